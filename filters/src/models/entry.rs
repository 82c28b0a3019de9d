//! What does the configuration know of a model that an engine does not describe?

use super::{Book, Said};
use serde::Serialize;
use spillway_policies::model::{DEFAULT_PROFILE, Selector};
use spillway_policies::routing::{Model, Policy, Profile, Remote, Routes, Tasks};
use spillway_policies::surface::Task;
use std::collections::BTreeMap;

/// A configured model, or one remote profile of it.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    name: &'a str,
    model: &'a Model,
    /// Set when this is that profile, as `model:profile` names it.
    profile: Option<&'a Remote>,
}

/// Who serves the bare name (contract section 1.5).
#[derive(Serialize)]
pub(super) struct Routing {
    policy: Option<&'static str>,
    upstream_kind: Option<&'static str>,
}

/// A model in OpenAI's list.
#[derive(Serialize)]
pub(super) struct Openai<'a> {
    id: &'a str,
    object: &'static str,
    created: u32,
    owned_by: &'static str,
}

/// A model in OpenAI's list, with its routing.
#[derive(Serialize)]
pub(super) struct OpenaiRouted<'a, R> {
    #[serde(flatten)]
    pub(super) openai: Openai<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) routing: Option<R>,
}

/// A model as SIE describes it.
#[derive(Serialize)]
pub(super) struct Native<'a> {
    name: &'a str,
    inputs: Vec<&'static str>,
    outputs: Vec<&'static str>,
    dims: BTreeMap<&'static str, u32>,
    loaded: bool,
    state: &'static str,
    last_error: Option<LastError>,
    max_sequence_length: Option<u32>,
    profiles: BTreeMap<&'a str, ProfileInfo>,
    revision: Option<&'a str>,
    capabilities: Option<Capabilities>,
    routing: Routing,
    aliases: [&'a str; 0],
}

/// One model in both shapes at once.
#[derive(Serialize)]
pub(super) struct Both<'a> {
    #[serde(flatten)]
    openai: Openai<'a>,
    #[serde(flatten)]
    native: Native<'a>,
}

/// Why a model cannot be served.
#[derive(Serialize)]
struct LastError {
    code: &'static str,
    message: &'static str,
    attempts: u32,
    permanent: bool,
}

/// Nothing here can prove which weights a profile runs, so every identity is open.
#[derive(Serialize, Default)]
struct ProfileInfo {
    is_default: bool,
    identity: Option<&'static str>,
    remote_contract_sha256: Option<&'static str>,
    remote_execution_sha256: Option<&'static str>,
    runtime_instance_id: Option<&'static str>,
}

/// What is certain of every upstream that generates.
#[derive(Serialize)]
struct Capabilities {
    streaming: bool,
}

/// Renders a value of ours.
pub(super) fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("names, numbers and texts always render as JSON")
}

/// A name in OpenAI's shape. `created` is not known of any model.
pub(super) const fn openai(id: &str) -> Openai<'_> {
    Openai { id, object: "model", created: 0, owned_by: "spillway" }
}

impl<'a> Entry<'a> {
    pub(super) const fn new(name: &'a str, model: &'a Model) -> Self {
        Self { name, model, profile: None }
    }

    /// The entry of a name that an engine lists. `model:profile` is not looked into: the engine knows its own profiles.
    pub(super) fn listed(name: &'a str, routes: &'a Routes) -> Option<Self> {
        (routes.configured_name(name)? == name).then_some(())?;
        Some(Self::new(name, routes.named(name)?))
    }

    /// The entry that a caller asks for: a configured name, or a remote profile of one.
    pub(super) fn wanted(name: &'a str, routes: &'a Routes) -> Option<Self> {
        if let Some(entry) = Self::listed(name, routes) {
            return Some(entry);
        }
        let model = routes.named(name)?;
        match model.profiles.get(Selector::parse(name, None).profile?)? {
            Profile::Local => None,
            Profile::Remote(remote) => Some(Self { name, model, profile: Some(remote) }),
        }
    }

    pub(super) const fn name(&self) -> &'a str {
        self.name
    }

    /// The upstream that serves the name as it stands, when only an upstream does.
    fn remote(&self) -> Option<&'a Remote> {
        match (self.profile, &self.model.policy, self.model.profiles.get(DEFAULT_PROFILE)) {
            (Some(remote), _, _)
            | (None, Policy::RemoteOnly { remote }, _)
            | (None, Policy::Local, Some(Profile::Remote(remote))) => Some(remote),
            _ => None,
        }
    }

    /// Whether no local engine has it.
    pub(super) fn is_remote(&self) -> bool {
        self.remote().is_some()
    }

    /// Its routing, as SIE resolves it: without a policy no upstream is named.
    pub(super) fn routing(&self) -> Routing {
        let (policy, remote) = match (self.remote(), &self.model.policy) {
            (Some(remote), _) => (Some("remote_only"), Some(remote)),
            (None, Policy::Fallback { remote, .. }) => (Some("fallback"), Some(remote)),
            (None, _) => (None, None),
        };
        Routing { policy, upstream_kind: remote.map(|remote| remote.upstream.kind.token()) }
    }

    /// In OpenAI's shape.
    pub(super) fn openai(&self) -> OpenaiRouted<'a, Routing> {
        OpenaiRouted { openai: openai(self.name), routing: Some(self.routing()) }
    }

    /// In both shapes at once.
    pub(super) fn both(&self, book: &Book<'_>) -> Both<'a> {
        Both { openai: openai(self.name), native: self.native(book) }
    }

    /// As SIE would describe it.
    pub(super) fn native(&self, book: &Book<'_>) -> Native<'a> {
        let tasks = &self.model.tasks;
        let (state, last_error) = self.state(book);
        Native {
            name: self.name,
            inputs: inputs(tasks),
            outputs: outputs(tasks),
            dims: dims(tasks),
            loaded: false,
            state,
            last_error,
            max_sequence_length: tasks.max_sequence_length,
            profiles: self.profiles(),
            revision: None,
            capabilities: tasks.has(Task::Generate).then_some(Capabilities { streaming: true }),
            routing: self.routing(),
            aliases: [],
        }
    }

    /// A profile that is named is a model of its own, whose default it is, as SIE lists it.
    fn profiles(&self) -> BTreeMap<&'a str, ProfileInfo> {
        let info = |name| ProfileInfo { is_default: name == DEFAULT_PROFILE, ..ProfileInfo::default() };
        if self.profile.is_some() {
            return BTreeMap::from([(DEFAULT_PROFILE, info(DEFAULT_PROFILE))]);
        }
        self.model.profiles.keys().map(|name| (name.as_str(), info(name))).collect()
    }

    /// An upstream has nothing to load here: it is available, as SIE says it before the first call. A model of an engine that is not
    /// there says so, in the states that SIE has.
    fn state(&self, book: &Book<'_>) -> (&'static str, Option<LastError>) {
        let error = |code, message, permanent| Some(LastError { code, message, attempts: 0, permanent });
        match book.said {
            _ if self.is_remote() && book.remote_serving => ("available", None),
            _ if self.is_remote() => ("failed", error("CONFIG", "remote serving is switched off", true)),
            Said::Known | Said::Unknown => ("available", None),
            Said::Loading => ("loading", None),
            Said::Starting => ("loading", error("PROVISIONING", "the engine is still starting", false)),
            Said::Unreachable => ("failed", error("ENGINE_UNREACHABLE", "the engine cannot be reached", false)),
        }
    }
}

/// A model that transcribes hears; every other task reads.
fn inputs(tasks: &Tasks) -> Vec<&'static str> {
    let reads = [Task::Encode, Task::Score, Task::Extract, Task::Generate].into_iter().any(|task| tasks.has(task));
    let kinds = [(reads, "text"), (tasks.has(Task::Transcribe), "audio")];
    kinds.into_iter().filter(|(has, _)| *has).map(|(_, kind)| kind).collect()
}

/// In the order of the reference. A transcription is the JSON of an extraction there.
fn outputs(tasks: &Tasks) -> Vec<&'static str> {
    let kinds = [
        (tasks.dense_dim.is_some(), "dense"),
        (tasks.sparse.is_some(), "sparse"),
        (tasks.multivector_dim.is_some(), "multivector"),
        (tasks.has(Task::Score), "score"),
        (tasks.has(Task::Extract) || tasks.has(Task::Transcribe), "json"),
        (tasks.has(Task::Generate), "tokens"),
    ];
    kinds.into_iter().filter(|(has, _)| *has).map(|(_, kind)| kind).collect()
}

fn dims(tasks: &Tasks) -> BTreeMap<&'static str, u32> {
    let sizes = [
        ("dense", tasks.dense_dim),
        ("sparse", tasks.sparse.and_then(|sparse| sparse.dim)),
        ("multivector", tasks.multivector_dim),
    ];
    sizes.into_iter().filter_map(|(kind, size)| Some((kind, size?))).collect()
}
