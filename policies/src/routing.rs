//! What a model name resolves to.

use crate::consent::Consent;
use crate::model::{DEFAULT_PROFILE, Selector, UpstreamModel};
use crate::surface::{Surface, Task};
use crate::trigger::TriggerSet;
use crate::upstream::Upstream;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Every configured model. Immutable once built; a reload builds another.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    models: BTreeMap<String, Model>,
}

/// One configured model.
#[derive(Clone, Debug)]
pub struct Model {
    /// What it can do.
    pub tasks: Tasks,
    /// Its profiles by name. A model with a local side has a local `default`, written or not.
    pub profiles: BTreeMap<String, Profile>,
    /// What its bare name does.
    pub policy: Policy,
    /// No local engine has it.
    pub remote_backed: bool,
    /// Fields of a request that are accepted beside those of its API.
    pub accept_params: Vec<String>,
}

/// What a model declares to do, with the sizes that answers are checked against.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tasks {
    declared: Vec<Task>,
    /// Width of dense vectors.
    pub dense_dim: Option<u32>,
    /// Sparse vectors, when the model gives them.
    pub sparse: Option<Sparse>,
    /// Width of each vector of a multivector.
    pub multivector_dim: Option<u32>,
    /// Most tokens of one input to encode, score or extract.
    pub max_sequence_length: Option<u32>,
    /// Most tokens of prompt and answer together.
    pub context_length: Option<u32>,
    /// Most tokens of an answer.
    pub max_output_tokens: Option<u32>,
}

impl Tasks {
    /// Declares a task.
    pub fn declare(&mut self, task: Task) {
        if !self.has(task) {
            self.declared.push(task);
        }
    }

    /// Whether a task is declared.
    #[must_use]
    pub fn has(&self, task: Task) -> bool {
        self.declared.contains(&task)
    }
}

/// That a model gives sparse vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sparse {
    /// Every index lies below this, when it is stated.
    pub dim: Option<u32>,
}

/// One way to serve a model.
#[derive(Clone, Debug)]
pub enum Profile {
    /// By the engine.
    Local,
    /// By an upstream.
    Remote(Remote),
}

/// Where a remote profile is served.
#[derive(Clone, Debug)]
pub struct Remote {
    /// By whom.
    pub upstream: Arc<Upstream>,
    /// Under which name.
    pub model: UpstreamModel,
    /// Most inputs in one upstream request.
    pub max_batch: Option<u32>,
    /// What is known here of the way the model writes.
    pub onboarding: Onboarding,
}

/// How a model writes: what an upstream with raw completions leaves to us (product section 3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Onboarding {
    /// The text of its chat template.
    pub chat_template: Option<String>,
    /// The name of its way to call tools.
    pub tool_format: Option<String>,
    /// The name of its way to mark reasoning inside its text.
    pub reasoning_format: Option<String>,
    /// Marked reasoning is taken out of the text.
    pub hides_reasoning: bool,
}

impl Remote {
    /// The surface on which the upstream is asked for a call of `surface`; none when it cannot serve it.
    #[must_use]
    pub fn asked_on(&self, surface: Surface) -> Option<Surface> {
        self.upstream.asked_on(surface, self.onboarding.chat_template.is_some())
    }
}

/// What a bare model name does (product section 3).
#[derive(Clone, Debug)]
pub enum Policy {
    /// The engine first; a refusal whose trigger is on is bridged.
    Fallback {
        /// Where to.
        remote: Remote,
        /// On which refusals.
        triggers: TriggerSet,
    },
    /// The engine only.
    Local,
    /// The upstream only: no local engine has the model.
    RemoteOnly {
        /// Where to.
        remote: Remote,
    },
}

/// What one call resolves to.
#[derive(Clone, Copy, Debug)]
pub enum Route<'a> {
    /// The engine first, then perhaps the upstream.
    Hybrid {
        /// What the model can do.
        tasks: &'a Tasks,
        /// Where a bridge goes.
        remote: &'a Remote,
        /// Which refusals bridge.
        triggers: TriggerSet,
    },
    /// The engine only.
    Local,
    /// The upstream only, as a policy or an explicit profile says.
    Remote {
        /// What the model can do.
        tasks: &'a Tasks,
        /// Where it goes.
        remote: &'a Remote,
    },
}

/// A call that only an upstream could serve may not leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Barred {
    /// The caller forbids it: 400.
    Forbidden,
    /// The call's `options.profile` names none of its profiles, and no engine has others: 400.
    NoSuchProfile,
    /// The operator switched remote serving off: 502 MODEL_LOAD_FAILED.
    SwitchedOff,
}

impl Routes {
    /// The table of these models.
    #[must_use]
    pub const fn new(models: BTreeMap<String, Model>) -> Self {
        Self { models }
    }

    /// What a call is served by. An unknown name or profile goes to the engine, which knows its own models. A configured name may
    /// have a colon in it (`qwen3:8b`): the whole written name counts first, then what stands before its last colon.
    ///
    /// # Errors
    /// Only an upstream could serve it, and it may not leave.
    pub fn resolve(&self, selector: &Selector<'_>, consent: Consent) -> Result<Route<'_>, Barred> {
        let (model, profile) = match (self.models.get(selector.written), self.models.get(selector.model)) {
            (Some(model), _) => (model, selector.option),
            (None, Some(model)) => (model, selector.profile),
            (None, None) => return Ok(Route::Local),
        };
        let tasks = &model.tasks;
        let remote = match profile {
            // A named profile is served as written; the policy is for the bare name only.
            Some(profile) => match model.profiles.get(profile) {
                Some(Profile::Remote(remote)) => remote,
                None if model.remote_backed && selector.option.is_some() => return Err(Barred::NoSuchProfile),
                Some(Profile::Local) | None => return Ok(Route::Local),
            },
            None => match (&model.policy, model.profiles.get(DEFAULT_PROFILE)) {
                (Policy::Fallback { remote, triggers }, _) => {
                    return Ok(match consent {
                        Consent::Given => Route::Hybrid { tasks, remote, triggers: *triggers },
                        Consent::Forbidden | Consent::SwitchedOff => Route::Local,
                    });
                }
                (Policy::RemoteOnly { remote }, _) | (Policy::Local, Some(Profile::Remote(remote))) => remote,
                (Policy::Local, _) => return Ok(Route::Local),
            },
        };
        match consent {
            Consent::Forbidden => Err(Barred::Forbidden),
            Consent::Given => Ok(Route::Remote { tasks, remote }),
            Consent::SwitchedOff => Err(Barred::SwitchedOff),
        }
    }

    /// The configured model that a written name means, profile suffix included or not.
    #[must_use]
    pub fn named(&self, written: &str) -> Option<&Model> {
        self.models.get(written).or_else(|| self.models.get(Selector::parse(written, None).model))
    }

    /// The configured name that a written one means, which is safe to log: a caller's own string is not.
    #[must_use]
    pub fn configured_name(&self, written: &str) -> Option<&str> {
        let entry = |name: &str| self.models.get_key_value(name).map(|(name, _)| name.as_str());
        entry(written).or_else(|| entry(Selector::parse(written, None).model))
    }

    /// Every configured model with its name, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Model)> {
        self.models.iter().map(|(name, model)| (name.as_str(), model))
    }
}
