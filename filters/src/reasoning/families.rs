//! Which markers does a model family write around its reasoning? Facts of the published chat formats, by the names that the field uses.

/// One family.
pub(super) struct Family {
    pub(super) name: &'static str,
    /// The chat template opens the reasoning, so that the text begins inside it.
    pub(super) begins_private: bool,
    /// What is left of an opening marker at the very beginning when special tokens were dropped on the way.
    pub(super) label: Option<&'static str>,
    /// The character every marker begins with.
    pub(super) lead: char,
    pub(super) markers: &'static [Marker],
}

/// One marker.
pub(super) struct Marker {
    pub(super) text: &'static str,
    pub(super) turn: Turn,
}

/// What a marker does to the text behind it.
#[derive(Clone, Copy)]
pub(super) enum Turn {
    /// Reasoning begins.
    Open,
    /// The same, after a suffix that ends with `>`.
    OpenUntilAngle,
    /// Public text begins.
    Close,
    /// The same, and the marker belongs to the public text: it begins a tool call.
    CloseShown,
    /// Public text begins after a suffix that ends with `>`.
    CloseUntilAngle,
    /// Neither: a name, a role or a channel that is not known.
    Heading,
    /// The marker alone is taken out.
    Nothing,
}

const fn on(text: &'static str, turn: Turn) -> Marker {
    Marker { text, turn }
}

const THINK: &[Marker] = &[on("<think>", Turn::Open), on("</think>", Turn::Close)];

const COHERE: &[Marker] = &[on("<|START_THINKING|>", Turn::Open), on("<|END_THINKING|>", Turn::Close)];

const DEEPSEEK_V41: &[Marker] =
    &[on("<think>", Turn::Open), on("</think>", Turn::Close), on("<｜DSML｜ calls>", Turn::CloseShown)];

const GEMMA4: &[Marker] =
    &[on("<|channel>thought\n", Turn::Open), on("<channel|>", Turn::Close), on("<|tool_call>", Turn::CloseShown)];

const HY_V4: &[Marker] = &[
    on("<think>", Turn::Open),
    on("<think:", Turn::OpenUntilAngle),
    on("</think>", Turn::Close),
    on("</think:", Turn::CloseUntilAngle),
];

const INKLING: &[Marker] = &[
    on("<|content_thinking|>", Turn::Open),
    on("<|content_text|>", Turn::Close),
    on("<|content_invoke_tool_json|>", Turn::CloseShown),
    on("<|content_invoke_tool_text|>", Turn::Heading),
    on("<|message_model|>", Turn::Heading),
    on("<|end_message|>", Turn::Close),
    on("<|content_model_end_sampling|>", Turn::Close),
    on("<|endoftext|>", Turn::Nothing),
    on("<|message_user|>", Turn::Nothing),
    on("<|message_system|>", Turn::Nothing),
    on("<|message_tool|>", Turn::Nothing),
    on("<|content_image|>", Turn::Nothing),
    on("<|content_audio_input|>", Turn::Nothing),
    on("<|content_tool_error|>", Turn::Nothing),
    on("<|content_xml|>", Turn::Nothing),
    on("<|audio_end|>", Turn::Nothing),
];

const KIMI: &[Marker] = &[on("◁think▷", Turn::Open), on("◁/think▷", Turn::Close)];

/// A tag that is none of these, or is spaced otherwise, leads to a heading: it may be a channel of reasoning.
const KIMI_K3: &[Marker] = &[
    on("<|open|>think<|sep|>", Turn::Open),
    on("<|close|>think<|sep|>", Turn::Close),
    on("<|open|>response<|sep|>", Turn::Close),
    on("<|open|>tools<|sep|>", Turn::CloseShown),
    on("<|close|>response<|sep|>", Turn::Nothing),
    on("<|open|>message<|sep|>", Turn::Nothing),
    on("<|close|>message<|sep|>", Turn::Nothing),
    on("<|open|>", Turn::Heading),
    on("<|close|>", Turn::Heading),
];

const MINIMAX_M3: &[Marker] = &[on("<mm:think>", Turn::Open), on("</mm:think>", Turn::Close)];

const fn family(name: &'static str, markers: &'static [Marker]) -> Family {
    Family { name, begins_private: false, label: None, lead: '<', markers }
}

const fn begun(name: &'static str) -> Family {
    Family { begins_private: true, ..family(name, THINK) }
}

pub(super) const FAMILIES: &[Family] = &[
    family("base", THINK),
    family("cohere_cmd", COHERE),
    begun("deepseek_r1"),
    family("deepseek_v31", THINK),
    family("deepseek_v4", THINK),
    family("deepseek_v41", DEEPSEEK_V41),
    Family { label: Some("thought\n"), ..family("gemma4", GEMMA4) },
    family("glm45", THINK),
    family("hy_v4", HY_V4),
    family("inkling", INKLING),
    Family { lead: '◁', ..family("kimi", KIMI) },
    family("kimi_k25", THINK),
    family("kimi_k3", KIMI_K3),
    begun("kimi_thinking"),
    begun("minimax"),
    family("minimax_m3", MINIMAX_M3),
    family("nano_v3", THINK),
    family("qwen3", THINK),
    begun("qwen3_thinking"),
    begun("step3"),
];
