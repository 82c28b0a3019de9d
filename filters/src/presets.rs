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
mod launch;
mod llama_cpp;
mod llama_cpp_router;
mod openai;
mod origin;
mod sie;
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

/// The presets of this version.
pub const NAMES: &[&str] = &["sie", "vllm", "llama_cpp", "llama_cpp_router", "openai"];

/// Presets that the configuration knows by name and this version lacks.
pub const PLANNED: &[&str] =
    &["sglang", "tei", "tgi", "llama_swap", "ollama", "localai", "lm_studio", "infinity", "mlx", "triton", "kserve"];

/// The preset of a name in [`NAMES`].
#[must_use]
pub fn preset(name: &str) -> Option<&'static Preset> {
    [&sie::PRESET, &vllm::PRESET, &llama_cpp::PRESET, &llama_cpp_router::PRESET, &openai::PRESET]
        .into_iter()
        .find(|preset| preset.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_its_preset_and_no_planned_one_has() {
        for name in NAMES {
            assert_eq!(preset(name).map(|preset| preset.name), Some(*name));
        }
        assert!(PLANNED.iter().all(|name| preset(name).is_none()));
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
