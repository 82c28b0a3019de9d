//! How does KServe's model server refuse, and what stands in front of it: Knative, and Envoy (engines 2.6)?

use super::{Call, Health, Launch, Listens, Method, Origin, Preset, Wake, Watch};
use crate::refusal::Rule;
use spillway_policies::Trigger;
use std::borrow::Cow;

const RECORDED: Origin = Origin::seen("KServe 0.21.0, filters/tests/fixtures");
const RUN: Origin = Origin::seen("KServe 0.21.0, recorded run");
const QUEUE_PROXY: Origin = Origin::read("Knative 98e5ef90aa, pkg/queue/handler.go");
const ENVOY: Origin = Origin::inferred("Envoy's own texts, common knowledge");

// Its idle limit is uvicorn's 5 s. It names its models and does not say which are ready, so their state is not read.
pub(super) static PRESET: Preset = Preset {
    name: "kserve",
    port: 8_080,
    rules: RULES,
    veiled: &[],
    idle_ms: 4_000,
    wake: Wake::Call {
        call: Call {
            method: Method::Post,
            path: "/v2/repository/models/$model/load",
            body: "{}",
            already: None,
            origin: RUN,
        },
        blocks: true,
    },
    // It has an unload call, after which it says 404 as of a model that never was: its process is ended instead.
    sleep: None,
    watch: Watch {
        listens: Listens::Loaded,
        health: Some(Health { path: "/v2/health/ready", loading: &[], origin: RUN }),
        ..Watch::USUAL
    },
    launch: Launch {
        programs: &["huggingfaceserver", "sklearnserver", "xgbserver", "lgbserver", "paddleserver", "pmmlserver"],
        port_flags: &["--http_port"],
        port_variable: "",
        // It listens everywhere.
        host_flags: &[],
        model_flags: &["--model_dir", "--model_id"],
        revision_flags: &["--model_revision"],
        dtype_flags: &["--dtype"],
        ..Launch::UNKNOWN
    },
    validates_first: false,
};

// A 504 of Knative, and a 502 while it scales up, are no refusals: the request may have been handed on.
static RULES: &[Rule] = &[
    Rule {
        status: statuses![503],
        content_type: Some(Cow::Borrowed("text/plain")),
        text: texts!["pending request queue full"],
        trigger: Some(Trigger::Saturated),
        origin: QUEUE_PROXY,
        ..Rule::HEAD
    },
    Rule {
        status: statuses![503],
        content_type: Some(Cow::Borrowed("text/plain")),
        text: texts!["context deadline exceeded"],
        trigger: Some(Trigger::Provisioning),
        origin: Origin::read("Knative 98e5ef90aa, pkg/activator/handler/handler.go"),
        ..Rule::HEAD
    },
    // It tried more than once, and only the last try had no connection.
    Rule {
        status: statuses![503],
        text: texts!["retried and the latest reset reason"],
        origin: Origin::inferred("Envoy's own texts, as quoted in many reports"),
        ..Rule::HEAD
    },
    Rule {
        status: statuses![503],
        text: texts!["no healthy upstream"],
        trigger: Some(Trigger::Provisioning),
        origin: ENVOY,
        ..Rule::HEAD
    },
    Rule {
        status: statuses![503],
        text: texts!["upstream connect error", "connection failure"],
        trigger: Some(Trigger::Provisioning),
        origin: ENVOY,
        ..Rule::HEAD
    },
    Rule {
        status: statuses![503],
        json: pairs!["/error" => "Model with name *"],
        text: texts![" is not ready"],
        trigger: Some(Trigger::ModelLoading),
        origin: RECORDED,
        ..Rule::HEAD
    },
    Rule {
        status: statuses![503],
        content_type: Some(Cow::Borrowed("text/html")),
        text: texts!["503: Model with name ", " is not ready"],
        trigger: Some(Trigger::ModelLoading),
        origin: Origin::inferred("older versions, as quoted in kserve issue 1915"),
        ..Rule::HEAD
    },
];
