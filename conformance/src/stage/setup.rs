//! Which configuration does a case run the sidecar with?

use std::fmt::Write as _;

use super::pipe::Address;

/// The key that the sidecar sends to the upstream `hosted`.
pub const HOSTED_KEY: &str = "hosted-key-5f1c9b";
/// The key that the sidecar sends to the upstream `team-sie`.
pub const TEAM_KEY: &str = "team-key-77a0e2";

/// One `[upstreams.NAME]` table.
#[derive(Clone, Debug)]
pub struct Upstream {
    name: String,
    kind: &'static str,
    at: Option<Address>,
    rate_cap: (u32, u32),
    lines: Vec<String>,
}

impl Upstream {
    /// An OpenAI-compatible host that declares every endpoint.
    pub fn openai(name: &str) -> Self {
        Self::new(name, "openai")
            .line(r#"endpoints = ["chat", "completions", "embeddings", "rerank"]"#)
            .line(r#"api_key_secret = "HOSTED_KEY""#)
    }

    /// Another SIE.
    pub fn sie(name: &str) -> Self {
        Self::new(name, "sie").line(r#"api_key_secret = "TEAM_KEY""#)
    }

    fn new(name: &str, kind: &'static str) -> Self {
        // No breaker in the way unless a case wants one.
        let breaker = "breaker = { failures = 1000, window_s = 30, cooldown_s = 60 }".to_owned();
        Self { name: name.to_owned(), kind, at: None, rate_cap: (60_000, 64), lines: vec![breaker] }
    }

    /// At this address instead of the stage's scripted upstream.
    pub fn at(mut self, address: &Address) -> Self {
        self.at = Some(address.clone());
        self
    }

    /// With this cap.
    pub fn rate_cap(mut self, per_minute: u32, concurrent: u32) -> Self {
        self.rate_cap = (per_minute, concurrent);
        self
    }

    /// With this breaker.
    pub fn breaker(mut self, failures: u32, cooldown_s: u32) -> Self {
        self.lines.retain(|line| !line.starts_with("breaker"));
        self.line(&format!("breaker = {{ failures = {failures}, window_s = 30, cooldown_s = {cooldown_s} }}"))
    }

    /// Without the endpoints it would declare.
    pub fn without_endpoints(mut self) -> Self {
        self.lines.retain(|line| !line.starts_with("endpoints"));
        self
    }

    /// With one more line.
    pub fn line(mut self, line: &str) -> Self {
        self.lines.push(line.to_owned());
        self
    }

    fn render(&self, scripted: &Address) -> String {
        let path = if self.kind == "openai" { "/v1" } else { "" };
        let base = self.at.as_ref().unwrap_or(scripted).url();
        let (per_minute, concurrent) = self.rate_cap;
        format!(
            "[upstreams.{}]\nkind = \"{}\"\nbase_url = \"{base}{path}\"\n\
             rate_cap = {{ requests_per_minute = {per_minute}, max_concurrency = {concurrent} }}\n{}\n",
            self.name,
            self.kind,
            self.lines.join("\n")
        )
    }
}

/// The addresses that a configuration is written for.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(crate) front: Address,
    pub(crate) admin: Address,
    pub(crate) engine: Address,
    pub(crate) upstream: Address,
}

/// A deployment file in the making: a SIE engine, the upstreams `hosted` (openai) and `team-sie` (sie), and no models.
#[derive(Clone, Debug)]
pub struct Setup {
    top: Vec<String>,
    listen: Vec<String>,
    preset: &'static str,
    engine: Vec<String>,
    upstreams: Vec<Upstream>,
    tables: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) unix: bool,
    pub(crate) engine_at: Option<Address>,
}

impl Default for Setup {
    fn default() -> Self {
        Self::new()
    }
}

impl Setup {
    /// The setup without models.
    pub fn new() -> Self {
        let key = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        Self {
            top: Vec::new(),
            listen: Vec::new(),
            preset: "sie",
            engine: Vec::new(),
            upstreams: vec![Upstream::openai("hosted"), Upstream::sie("team-sie")],
            tables: vec!["[log]\nformat = \"json\"\naccess = \"all\"\n".to_owned()],
            env: vec![key("HOSTED_KEY", HOSTED_KEY), key("TEAM_KEY", TEAM_KEY)],
            unix: false,
            engine_at: None,
        }
    }

    /// With this top-level line.
    pub fn top(mut self, line: &str) -> Self {
        self.top.push(line.to_owned());
        self
    }

    /// With this line under `[listen]`.
    pub fn listen(mut self, line: &str) -> Self {
        self.listen.push(line.to_owned());
        self
    }

    /// In front of another kind of engine.
    pub fn preset(mut self, preset: &'static str) -> Self {
        self.preset = preset;
        self
    }

    /// With this line under `[engine]`.
    pub fn engine(mut self, line: &str) -> Self {
        self.engine.push(line.to_owned());
        self
    }

    /// With the engine at this address instead of the stage's scripted one.
    pub fn engine_at(mut self, address: &Address) -> Self {
        self.engine_at = Some(address.clone());
        self
    }

    /// With front and engine on Unix sockets.
    pub fn unix(mut self) -> Self {
        self.unix = true;
        self
    }

    /// With this upstream, in place of one of the same name.
    pub fn upstream(mut self, upstream: Upstream) -> Self {
        self.upstreams.retain(|known| known.name != upstream.name);
        self.upstreams.push(upstream);
        self
    }

    /// With these lines as they are, after everything else.
    pub fn table(mut self, text: &str) -> Self {
        self.tables.push(format!("{text}\n"));
        self
    }

    /// With this environment variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With a generation model whose refusals are bridged to `hosted`.
    pub fn hybrid(self, model: &str) -> Self {
        self.bridged(model, "hosted", "")
    }

    /// With a generation model whose refusals are bridged to `upstream`; `triggers` is a list, or empty for the default.
    pub fn bridged(self, model: &str, upstream: &str, triggers: &str) -> Self {
        let triggers = if triggers.is_empty() { String::new() } else { format!(", triggers = {triggers}") };
        self.table(&format!(
            "[models.\"{model}\"]\n{GENERATE}\n{}\nrouting = {{ policy = \"fallback\", fallback_profile = \"remote\"{triggers} }}",
            profile("remote", upstream, &remote_name(model)),
        ))
    }

    /// With a generation model that only `upstream` serves.
    pub fn remote_only(self, model: &str, upstream: &str) -> Self {
        self.table(&format!(
            "[models.\"{model}\"]\nremote_backed = true\n{GENERATE}\n{}\nrouting = {{ policy = \"remote_only\" }}",
            profile("default", upstream, &remote_name(model)),
        ))
    }

    /// With a generation model that only the engine serves.
    pub fn local(self, model: &str) -> Self {
        self.table(&format!("[models.\"{model}\"]\n{GENERATE}"))
    }

    /// The file.
    pub(crate) fn render(&self, places: &Places) -> String {
        let mut text = String::new();
        let mut section = |name: &str, address: &str, lines: &[String]| {
            // Writing to a String cannot fail.
            write!(text, "{name}\n{address}\n{}\n\n", lines.join("\n")).ok();
        };
        section("", "", &self.top);
        section("[listen]", &format!("address = \"{}\"", places.front.listen()), &self.listen);
        section("[admin]", &format!("address = \"{}\"", places.admin.listen()), &[]);
        let engine = format!("preset = \"{}\"\nbase_url = \"{}\"", self.preset, places.engine.url());
        section("[engine]", &engine, &self.engine);
        for upstream in &self.upstreams {
            section("", &upstream.render(&places.upstream), &[]);
        }
        section("", "", &self.tables);
        text
    }
}

/// The tasks of a generation model.
pub const GENERATE: &str = "tasks = { generate = { context_length = 8192, max_output_tokens = 1024 } }";

/// The line that makes a profile remote.
pub fn profile(name: &str, upstream: &str, upstream_model: &str) -> String {
    format!("profiles.{name} = {{ upstream = \"{upstream}\", upstream_model = \"{upstream_model}\" }}")
}

/// What an upstream calls the model.
pub fn remote_name(model: &str) -> String {
    format!("vendor/{}", model.rsplit('/').next().unwrap_or(model))
}
