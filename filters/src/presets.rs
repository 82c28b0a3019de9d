//! Which engines are known by name, and how does each refuse, wait and wake?

/// Pairs of literals for a rule.
macro_rules! pairs {
    ($($name:expr => $value:expr),+ $(,)?) => {
        ::std::borrow::Cow::Borrowed(&[$((::std::borrow::Cow::Borrowed($name), ::std::borrow::Cow::Borrowed($value))),+])
    };
}

/// Texts of literals for a rule.
macro_rules! texts {
    ($($text:expr),+ $(,)?) => { ::std::borrow::Cow::Borrowed(&[$(::std::borrow::Cow::Borrowed($text)),+]) };
}

/// Statuses of literals for a rule.
macro_rules! statuses {
    ($($status:expr),+ $(,)?) => { ::std::borrow::Cow::Borrowed(&[$($status),+]) };
}

mod call;
mod infinity;
mod kserve;
mod launch;
mod llama_cpp;
mod llama_cpp_router;
mod llama_swap;
mod lm_studio;
mod localai;
mod mlx;
mod ollama;
mod openai;
mod origin;
mod sglang;
mod sie;
mod tei;
mod tgi;
mod triton;
mod vllm;
mod watch;

pub use call::{Already, Call, Method};
pub use launch::Launch;
pub use origin::{How, Origin};
pub use watch::{Flag, Health, Listens, ModelList, Queue, Sleep, Watch};

use crate::refusal::{Rule, Veiled};

/// What is known of one kind of engine (engines sections 1 to 3).
#[derive(Clone, Debug)]
pub struct Preset {
    /// Its name in the configuration.
    pub name: &'static str,
    /// The port it listens on by default.
    pub port: u16,
    /// How it refuses; the first rule that matches decides.
    pub rules: &'static [Rule],
    /// Answers that hide why it refuses; the first that matches counts.
    pub veiled: &'static [Veiled],
    /// How long one of its idle connections is trusted, in milliseconds: less than the engine itself keeps it open.
    pub idle_ms: u64,
    /// What makes it load a model without running a request.
    pub wake: Wake,
    /// How it gives its memory back without ending; none: it cannot, and its process is ended.
    pub sleep: Option<Sleep>,
    /// How its state is seen.
    pub watch: Watch,
    /// How its command line is known.
    pub launch: Launch,
    /// It checks the fields of a call before it refuses it, so that our own check can wait for the re-issue (product section 4 item 3).
    pub validates_first: bool,
}

/// What makes an engine load a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// The refused request itself started the load.
    ByRefusal,
    /// A call that loads.
    Call {
        /// The call.
        call: Call,
        /// Whether it is answered only when the model is loaded. Otherwise it is answered at once.
        blocks: bool,
    },
    /// Nothing over HTTP does: the start of the process is the load.
    None,
}

/// The names of the presets.
pub const NAMES: &[&str] = &[
    "sie",
    "vllm",
    "sglang",
    "tei",
    "tgi",
    "llama_cpp",
    "llama_cpp_router",
    "llama_swap",
    "ollama",
    "localai",
    "lm_studio",
    "infinity",
    "mlx",
    "triton",
    "kserve",
    "openai",
];

/// In the order of [`NAMES`].
static PRESETS: &[&Preset] = &[
    &sie::PRESET,
    &vllm::PRESET,
    &sglang::PRESET,
    &tei::PRESET,
    &tgi::PRESET,
    &llama_cpp::PRESET,
    &llama_cpp_router::PRESET,
    &llama_swap::PRESET,
    &ollama::PRESET,
    &localai::PRESET,
    &lm_studio::PRESET,
    &infinity::PRESET,
    &mlx::PRESET,
    &triton::PRESET,
    &kserve::PRESET,
    &openai::PRESET,
];

/// The preset of a name in [`NAMES`].
#[must_use]
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().copied().find(|preset| preset.name == name)
}

impl Preset {
    /// How each of its rows is known.
    pub fn origins(&self) -> impl Iterator<Item = Origin> {
        let rules = self.rules.iter().chain(self.veiled.iter().map(|veiled| &veiled.when)).map(|rule| rule.origin);
        let wake = match self.wake {
            Wake::Call { call, .. } => Some(call),
            Wake::ByRefusal | Wake::None => None,
        };
        let list = self.watch.models.map(|models| models.call);
        let sleep = self.sleep.into_iter().flat_map(|sleep| [Some(sleep.sleep), sleep.wake]).flatten();
        let calls = wake.into_iter().chain(list).chain(sleep).map(|call| call.origin);
        let health = self.watch.health.map(|health| health.origin);
        let queue = self.watch.queue.map(|queue| queue.origin);
        let asleep = self.watch.asleep.map(|flag| flag.origin);
        rules.chain(calls).chain([health, queue, asleep].into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_its_preset_and_every_preset_its_name() {
        let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
        assert_eq!(names, NAMES);
        for name in NAMES {
            assert_eq!(preset(name).map(|preset| preset.name), Some(*name), "no name is there twice");
        }
        assert!(preset("vLLM").is_none() && preset("").is_none());
    }

    #[test]
    fn every_row_says_how_it_is_known() {
        for preset in PRESETS {
            for origin in preset.origins() {
                assert!(origin.what.len() > 10 && origin.what != "not said", "{}: {}", preset.name, origin.what);
                assert_ne!(origin.how, How::Configured, "{}", preset.name);
            }
        }
    }

    #[test]
    fn no_preset_waits_longer_for_a_word_than_the_engine_keeps_a_connection() {
        // uvicorn's 5 s is the shortest of all.
        assert!(PRESETS.iter().all(|preset| preset.idle_ms < 5_000));
    }

    #[test]
    fn what_holds_a_call_can_be_told_to_load() {
        for preset in PRESETS.iter().filter(|preset| preset.watch.models.is_some_and(|list| list.gates)) {
            assert!(matches!(preset.wake, Wake::Call { .. }), "{}", preset.name);
        }
    }

    #[test]
    fn only_sie_checks_fields_before_it_refuses() {
        let first: Vec<_> =
            NAMES.iter().filter(|name| preset(name).is_some_and(|preset| preset.validates_first)).collect();
        assert_eq!(first, [&"sie"]);
    }

    #[test]
    fn a_wake_body_quotes_the_model() {
        let Wake::Call { call, .. } = preset("llama_cpp_router").expect("the preset is listed").wake else {
            panic!("the router is woken by a call");
        };
        assert_eq!(call.body_for("org/m"), r#"{"model":"org/m"}"#);
        assert_eq!(call.body_for(r#"a"b\"#), r#"{"model":"a\"b\\"}"#);
        assert_eq!(call.path_for("org/m"), "/models/load");
    }

    #[test]
    fn an_engine_that_loads_already_is_no_failure() {
        let Wake::Call { call, .. } = preset("llama_cpp_router").expect("the preset is listed").wake else {
            panic!("the router is woken by a call");
        };
        assert!(call.is_done(200, b""));
        assert!(call.is_done(400, br#"{"error":{"message":"model is Already running"}}"#));
        assert!(!call.is_done(400, b"no such model") && !call.is_done(500, b"already running"));
    }
}
