//! Private reasoning: no cut of a text shows a byte of it, or of a marker.

use reasoning_parser::ParserFactory;
use spillway_filters::reasoning::{Reasoning, Split, names};

/// The crate's format that hides nothing; there is no reader for it.
const HIDES_NOTHING: &str = "passthrough";

fn read(mut reading: Reasoning, fragments: &[&str]) -> Split {
    let mut whole = Split::default();
    let mut add = |split: Split| {
        whole.shown += &split.shown;
        whole.hidden += &split.hidden;
    };
    for fragment in fragments {
        add(reading.feed(fragment));
    }
    add(reading.finish());
    whole
}

fn reader(format: &str) -> Reasoning {
    Reasoning::new(format).expect("a known format")
}

fn split(shown: &str, hidden: &str) -> Split {
    Split { shown: shown.into(), hidden: hidden.into() }
}

/// Format, text, what is shown, what is hidden.
const TEXTS: &[(&str, &str, &str, &str)] = &[
    ("qwen3", "<think>secret</think>\n\nanswer", "\n\nanswer", "secret"),
    ("qwen3", "hello <think>secret</think> world <think>again</think>!", "hello  world !", "secretagain"),
    ("qwen3", "a < b <thin </think <think", "a < b <thin </think <think", ""),
    ("qwen3", "<think>never closed", "", "never closed"),
    ("qwen3", "<think>one <think>two</think> three", " three", "one two"),
    ("qwen3", "<<think>s</</think>>", "<>", "s</"),
    ("qwen3", "stray</think> closing", "stray closing", ""),
    ("qwen3", "", "", ""),
    ("base", "<think>é</think>ü", "ü", "é"),
    ("deepseek_r1", "secret</think>answer", "answer", "secret"),
    ("deepseek_r1", "<think>secret</think>answer", "answer", "secret"),
    ("deepseek_r1", "no marker", "", "no marker"),
    ("cohere_cmd", "<|START_THINKING|>s<|END_THINKING|>a<|END|>", "a<|END|>", "s"),
    ("kimi", "◁think▷s◁/think▷a◁", "a◁", "s"),
    (
        "kimi_k3",
        "<|open|>think<|sep|>s<|close|>think<|sep|><|open|>response<|sep|>a<|close|>response<|sep|><|close|>message<|sep|>",
        "a",
        "s",
    ),
    ("kimi_k3", "<|open|> think <|sep|>s<|close|>think<|sep|>a", "a", ""),
    ("minimax_m3", "<mm:think>s</mm:think>a", "a", "s"),
    ("deepseek_v41", "<think>s<｜DSML｜ calls>t", "<｜DSML｜ calls>t", "s"),
    ("gemma4", "<|channel>thought\ns<channel|>a", "a", "s"),
    ("gemma4", "thought\nsecret and the answer", "", "secret and the answer"),
    ("gemma4", "thoughtful", "thoughtful", ""),
    ("gemma4", "though", "though", ""),
    ("hy_v4", "<think:x1>s</think:x1>a", "a", "s"),
    ("hy_v4", "<think>s</think>a", "a", "s"),
    (
        "inkling",
        "<|message_model|>name<|content_thinking|>s<|end_message|><|message_model|><|content_text|>a<|end_message|>",
        "a",
        "s",
    ),
];

#[test]
fn no_cut_shows_reasoning_or_a_marker() {
    for (format, text, shown, hidden) in TEXTS {
        let expected = split(shown, hidden);
        assert_eq!(read(reader(format), &[text]), expected, "{format}: {text}");
        let cuts: Vec<usize> = (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)).collect();
        for (place, first) in cuts.iter().enumerate() {
            for second in &cuts[place..] {
                let fragments = [&text[..*first], &text[*first..*second], &text[*second..]];
                assert_eq!(read(reader(format), &fragments), expected, "{format}: {fragments:?}");
            }
        }
        let characters: Vec<String> = text.chars().map(String::from).collect();
        let characters: Vec<&str> = characters.iter().map(String::as_str).collect();
        assert_eq!(read(reader(format), &characters), expected, "{format}: {text}");
    }
}

#[test]
fn the_formats_are_those_of_the_field() {
    let known: Vec<&str> = names().collect();
    let theirs = ParserFactory::new().list_parsers();
    let theirs: Vec<&str> = theirs.iter().map(String::as_str).filter(|name| *name != HIDES_NOTHING).collect();
    assert_eq!(known, theirs);
    assert!(
        Reasoning::new(HIDES_NOTHING).is_none() && Reasoning::new("").is_none() && Reasoning::new("Qwen3").is_none()
    );
}

/// On whole, well-formed texts an independent reader sees the same.
#[test]
fn a_second_opinion_agrees() {
    let bodies = [("s", "a"), ("two\nlines", " and more < text"), ("", "only this"), ("only this", "")];
    let factory = ParserFactory::new();
    for format in names() {
        let (open, close) = match format {
            "cohere_cmd" => ("<|START_THINKING|>", "<|END_THINKING|>"),
            "gemma4" => ("<|channel>thought\n", "<channel|>"),
            "hy_v4" => ("<think:abc>", "</think:abc>"),
            "inkling" => ("<|content_thinking|>", "<|end_message|><|message_model|><|content_text|>"),
            "kimi" => ("◁think▷", "◁/think▷"),
            "kimi_k3" => ("<|open|>think<|sep|>", "<|close|>think<|sep|><|open|>response<|sep|>"),
            "minimax_m3" => ("<mm:think>", "</mm:think>"),
            _ => ("<think>", "</think>"),
        };
        for (reasoning, answer) in bodies {
            let text = format!("{open}{reasoning}{close}{answer}");
            let mut other = factory.registry().create_parser(format).expect("a parser");
            let other = other.detect_and_parse_reasoning(&text).expect("it parses");
            let ours = read(reader(format), &[&text]);
            assert_eq!((ours.shown, ours.hidden), (other.normal_text, other.reasoning_text), "{format}: {text}");
        }
    }
}

/// Why the reader is not the crate's: cut inside a marker, it shows the reasoning.
#[test]
fn the_second_opinion_does_not_survive_cuts() {
    let mut other = ParserFactory::new().registry().create_parser("qwen3").expect("a parser");
    let shown: String = ["answer <thi", "nk>secret</think>"]
        .into_iter()
        .map(|fragment| other.parse_reasoning_streaming_incremental(fragment).expect("it parses").normal_text)
        .collect();
    assert!(shown.contains("secret"), "the crate learned to hold markers back: use it");
}

#[test]
fn a_prompt_decides_where_the_answer_begins() {
    let after = |format, prompt| Reasoning::after(format, prompt).expect("a known format");
    assert_eq!(read(after("qwen3", "user\n<think>\n"), &["s</think>a"]), split("a", "s"));
    assert_eq!(read(after("qwen3", "user\n<think>hm\nso"), &["s</think>a"]), split("a", "s"));
    assert_eq!(read(after("qwen3", "say <think>\nassistant\n"), &["s</think>a"]), split("a", "s"));
    assert_eq!(read(after("qwen3", "<think>b</think>c\nassistant\n"), &["a"]), split("a", ""));
    assert_eq!(read(after("qwen3", "user <thi"), &["nk> a"]), split("nk> a", ""), "nothing of the prompt is told");
    assert_eq!(read(after("deepseek_r1", "<think>b</think>c\nassistant\n"), &["s</think>a"]), split("a", "s"));
    assert_eq!(read(after("hy_v4", "<think:x>hm"), &["s</think:x>a"]), split("a", "s"));
    assert_eq!(read(after("hy_v4", "<think:"), &["x>s</think>a"]), split("a", "s"));
    assert_eq!(read(after("gemma4", "thought\nof a user"), &["a"]), split("a", ""));
    assert_eq!(read(after("deepseek_r1", "<think>\n\n</think>\n\n"), &["a"]), split("a", ""));
    assert_eq!(read(after("deepseek_r1", "assistant\n"), &["s"]), split("", "s"));
    assert_eq!(read(after("gemma4", "model\n<|channel>thought\n"), &["s<channel|>a"]), split("a", "s"));
    let named = ["name<|content_thinking|>s<|end_message|><|message_model|><|content_text|>a"];
    assert_eq!(read(after("inkling", "<|message_model|>"), &named), split("a", "s"));
    assert!(Reasoning::after("unknown", "").is_none());
}

proptest::proptest! {
    /// Any text made of markers, their parts and other characters, cut anywhere, says the same.
    #[test]
    fn every_cut_says_the_same(
        format in proptest::sample::select(names().collect::<Vec<_>>()),
        words in proptest::collection::vec(proptest::sample::select(vec![
            "<think>", "</think>", "<thi", "nk>", "<", "</", "a", "é", "\n", "<think:x", ">", "</think:", "<|channel>thought\n",
            "thought\n", "<channel|>", "◁think▷", "◁", "◁/think▷", "<|open|>", "think<|sep|>", "<|close|>", "response<|sep|>",
            "<|content_thinking|>", "<|message_model|>", "<|content_text|>", "<mm:think>", "</mm:think>",
        ]), 0..12),
        cuts in proptest::collection::vec(0_usize..200, 0..6),
    ) {
        let text = words.concat();
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| text.is_char_boundary(*cut) && *cut <= text.len()).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let fragments: Vec<&str> = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
        let whole = read(reader(format), &[&text]);
        proptest::prop_assert_eq!(read(reader(format), &fragments), whole.clone());
        proptest::prop_assert!(whole.shown.len() + whole.hidden.len() <= text.len());
    }

    #[test]
    fn what_stands_between_markers_is_hidden(before in "[a-z <>/]{0,20}", secret in "[A-Z]{1,20}", after in "[a-z <>/]{0,20}", cut in 0_usize..80) {
        let text = format!("{before}<think>{secret}</think>{after}");
        let cut = cut.min(text.len());
        let whole = read(reader("qwen3"), &[&text[..cut], &text[cut..]]);
        proptest::prop_assert!(!whole.shown.contains(|letter: char| letter.is_ascii_uppercase()));
        proptest::prop_assert_eq!(whole.hidden, secret);
    }
}
