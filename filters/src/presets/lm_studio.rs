//! How does LM Studio refuse (engines 2.5)?

use super::{Call, Launch, Listens, Method, ModelList, Origin, Preset, Sleep, Wake, Watch};
use crate::refusal::{Claim, Rule};
use spillway_policies::{State, Trigger};

// With just-in-time loading a request is held until its model is loaded; without, it is refused with 404.
pub(super) static PRESET: Preset = Preset {
    name: "lm_studio",
    port: 1_234,
    rules: RULES,
    veiled: &[],
    idle_ms: 4_000,
    wake: Wake::Call {
        // A second load of a model makes a second instance of it: whoever asks looks at the list first.
        call: Call {
            method: Method::Post,
            path: "/api/v1/models/load",
            body: r#"{"model":"$model"}"#,
            already: None,
            origin: Origin::documented("lmstudio-ai/docs c6854fb, 1_developer/2_rest/load.md; since 0.4"),
        },
        blocks: true,
    },
    sleep: Some(Sleep {
        // The first instance has the name of its model.
        sleep: Call {
            method: Method::Post,
            path: "/api/v1/models/unload",
            body: r#"{"instance_id":"$model"}"#,
            already: None,
            origin: Origin::documented("lmstudio-ai/docs c6854fb, 1_developer/2_rest/unload.md; since 0.4"),
        },
        wake: None,
        per_model: true,
    }),
    watch: Watch { listens: Listens::First, models: Some(MODELS), ..Watch::USUAL },
    // Its server is no process of its own that could be wrapped.
    launch: Launch::UNKNOWN,
    validates_first: false,
};

const MODELS: ModelList = ModelList {
    call: Call {
        method: Method::Get,
        path: "/api/v0/models",
        body: "",
        already: None,
        origin: Origin::documented("lmstudio-ai/docs c6854fb, 1_developer/2_rest/endpoints.mdx"),
    },
    list: "/data",
    names: &["/id"],
    state: "/state",
    states: &[("loaded", State::Ready), ("not-loaded", State::Absent)],
    failed: "",
    unlisted: None,
    optional_ending: "",
    never_listed: &[],
    gates: true,
};

static RULES: &[Rule] = &[
    Rule {
        status: statuses![400, 404],
        text: texts!["No models loaded"],
        trigger: Some(Trigger::ModelLoading),
        origin: Origin::inferred("quoted in lmstudio-ai/lms issue 107; the body's shape is not known"),
        ..Rule::HEAD
    },
    // It may have been unloaded under the work.
    Rule {
        status: statuses![400, 404],
        text: texts!["Model is unloaded"],
        trigger: Some(Trigger::ModelLoading),
        certainty: Claim::Ambiguous,
        origin: Origin::inferred("quoted in lmstudio-ai/lmstudio-bug-tracker issue 1492, from its log"),
        ..Rule::HEAD
    },
];
