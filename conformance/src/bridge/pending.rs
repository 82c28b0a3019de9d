//! Which recorded decisions cannot hold yet, and why?

/// Case and reason. One that holds all the same, or that does not exist, fails the run.
pub(super) const PENDING: &[(&str, &str)] = &[
    ("generate: upstream 429", TO_COMPLETIONS),
    ("generate: upstream 401", TO_COMPLETIONS),
    ("generate.stream: upstream 401", TO_COMPLETIONS),
    ("responses: upstream 429", FROM_RESPONSES),
    ("responses: upstream 401", FROM_RESPONSES),
];

const TO_COMPLETIONS: &str = "native generate is not translated into an OpenAI call yet, so the upstream is not asked";
const FROM_RESPONSES: &str =
    "responses is not translated into an endpoint that an OpenAI upstream declares yet, so it is not asked";
