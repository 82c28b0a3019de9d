//! What does one recorded decision ask for: which model table, which request, which surface?

use serde_json::Value;

use crate::stage::client::Request;
use crate::stage::sample::{Surface, request};
use crate::stage::setup::{GENERATE, profile};

/// One recorded decision, ready to be staged.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Surface and case: `chat: upstream 401`.
    pub(super) name: String,
    pub(super) surface: Surface,
    /// The case's own model name.
    pub(super) model: String,
    /// What no other model's upstream name contains.
    pub(super) mark: String,
    case: Value,
}

impl Plan {
    pub(super) fn new(number: usize, case: Value) -> Self {
        let text = |name: &str| case[name].as_str().unwrap_or_default().to_owned();
        let surface = Surface::named(&text("surface")).expect("the fixture in this crate names known surfaces");
        let mark = format!("c{number:03}");
        Self {
            name: format!("{}: {}", text("surface"), text("name")),
            surface,
            model: format!("conf/{mark}"),
            mark,
            case,
        }
    }

    pub(super) fn clause(&self) -> String {
        self.case["note"].as_str().unwrap_or_default().to_owned()
    }

    pub(super) fn expected(&self) -> &Value {
        &self.case["expect"]
    }

    pub(super) fn local(&self) -> &Value {
        &self.case["local"]
    }

    pub(super) fn upstream(&self) -> &Value {
        &self.case["upstream"]
    }

    pub(super) fn needs_own_stage(&self) -> bool {
        self.is_switched_off() || self.finds_breaker_open()
    }

    pub(super) fn is_switched_off(&self) -> bool {
        self.upstream()["switch"] == "off"
    }

    pub(super) fn finds_breaker_open(&self) -> bool {
        self.upstream()["limiter"] == "breaker_open"
    }

    /// Whether the caller gets the answer of nobody but Spillway.
    pub(super) fn is_rejected(&self) -> bool {
        let consent = &self.case["request"]["x_sie_remote"];
        consent.is_string() && (consent != "forbid" || self.is_remote_only())
    }

    /// Whether the engine must be asked, which is once.
    pub(super) fn asks_engine(&self) -> bool {
        !self.is_rejected() && self.case["request"]["model"] == "bare"
    }

    /// Whether nobody listens where the upstream should be.
    pub(super) fn finds_no_upstream(&self) -> bool {
        self.upstream()["answer"] == "connect_refused"
    }

    fn is_remote_only(&self) -> bool {
        self.case["request"]["model"] == "remote_only"
    }

    fn kind(&self) -> &str {
        self.upstream()["kind"].as_str().unwrap_or("sie")
    }

    /// The caller's request.
    pub(super) fn request(&self) -> Request {
        let suffix = if self.case["request"]["model"] == "named_remote" { ":remote" } else { "" };
        let request = request(self.surface, &format!("{}{suffix}", self.model));
        match self.case["request"]["x_sie_remote"].as_str() {
            Some(value) => request.field("X-SIE-Remote", value),
            None => request,
        }
    }

    /// The model's table. A hybrid model that stores vectors needs proof of equivalence to be configured at all, and what these
    /// cases check does not depend on its policy: there it has none.
    pub(super) fn table(&self) -> String {
        let head = format!("[models.\"{}\"]\n{}", self.model, self.tasks());
        let upstream = match self.kind() {
            _ if self.finds_no_upstream() => "gone",
            "openai" => "vendor",
            _ => "team-sie",
        };
        let profile_of = |name| profile(name, upstream, &self.upstream_model());
        if self.is_remote_only() {
            return format!(
                "{head}\nremote_backed = true\n{}\nrouting = {{ policy = \"remote_only\" }}",
                profile_of("default")
            );
        }
        let remote = profile_of("remote");
        if self.stores_vectors() {
            return format!("{head}\n{remote}");
        }
        format!(
            "{head}\n{remote}\nrouting = {{ policy = \"fallback\", fallback_profile = \"remote\"{} }}",
            self.triggers()
        )
    }

    fn triggers(&self) -> String {
        match &self.case["routing"]["triggers"] {
            Value::Null => String::new(),
            triggers => format!(", triggers = {triggers}"),
        }
    }

    fn upstream_model(&self) -> String {
        let profile = if self.kind() == "sie" { ":default" } else { "" };
        format!("up/{}{profile}", self.mark)
    }

    fn stores_vectors(&self) -> bool {
        matches!(self.surface, Surface::Encode | Surface::Score | Surface::Embeddings | Surface::Rerank)
    }

    fn tasks(&self) -> &'static str {
        match self.surface {
            Surface::Audio => "tasks = { transcribe = {} }",
            Surface::Embeddings | Surface::Encode => "tasks = { encode = { dense = { dim = 2 } } }",
            Surface::Extract => "tasks = { extract = {} }",
            Surface::Rerank | Surface::Score => "tasks = { score = {} }",
            _ => GENERATE,
        }
    }
}
