//! How is the demo's sidecar configured?

/// The model of the demo, as callers and the engine name it.
pub(super) const MODEL: &str = "demo/chat";
/// The upstream's own name for it.
pub(super) const UPSTREAM_MODEL: &str = "vendor/chat-8b";

/// The deployment file: an ordinary one, but for its ports.
pub(super) fn configuration(engine: &str, upstream: &str) -> String {
    format!(
        r#"[listen]
address = "127.0.0.1:0"           # port 0: the system chooses
workers = 2

[admin]
address = "127.0.0.1:0"

[engine]
preset = "sie"
base_url = "http://{engine}"

[upstreams.hosted]
kind = "openai"
base_url = "http://{upstream}/v1"
endpoints = ["chat"]
rate_cap = {{ requests_per_minute = 600, max_concurrency = 16 }}
breaker = {{ failures = 5, window_s = 30, cooldown_s = 5 }}

[models."{MODEL}"]
tasks = {{ generate = {{ context_length = 8192, max_output_tokens = 1024 }} }}
profiles.remote = {{ upstream = "hosted", upstream_model = "{UPSTREAM_MODEL}" }}
routing = {{ policy = "fallback", fallback_profile = "remote" }}

[log]
access = "none"                   # the demo has the screen for itself
"#
    )
}
