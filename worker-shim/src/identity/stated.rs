//! What does the engine say of itself?

use super::table::{Ask, is_definite};
use crate::client::Client;
use serde_json::Value;
use spillway_filters::presets::Method;
use std::time::Duration;

/// How long one answer may take.
const LIMIT: Duration = Duration::from_secs(5);

/// Longest text that counts, in bytes: a path.
const MAX_TEXT: usize = 4096;

/// What the engine said.
#[derive(Debug)]
pub(super) struct Stated {
    version: Option<String>,
    build: Option<String>,
    /// A path, or a name of the hub.
    pub(super) model: Option<String>,
    pub(super) revision: Option<String>,
    pub(super) dtype: Option<String>,
    /// It answered everything, and nothing of it says that the weights are others than the model's.
    pub(super) is_settled: bool,
}

impl Stated {
    /// The version, with the build that it says it is.
    pub(super) fn version(&self) -> Option<String> {
        let version = self.version.clone().filter(|version| is_definite(version))?;
        match &self.build {
            Some(build) => Some(format!("{version}+{build}")).filter(|version| is_definite(version)),
            None => Some(version),
        }
    }

    fn read(&mut self, ask: &Ask, answer: &Value) {
        let parts = [
            (&mut self.version, ask.version),
            (&mut self.build, ask.build),
            (&mut self.model, ask.model),
            (&mut self.revision, ask.revision),
            (&mut self.dtype, ask.dtype),
        ];
        for (part, pointer) in parts {
            let text = answer.pointer(pointer).filter(|_| !pointer.is_empty()).and_then(Value::as_str);
            let usable = |text: &&str| !text.trim().is_empty() && text.len() <= MAX_TEXT;
            *part = part.take().or_else(|| text.filter(usable).map(|text| text.trim().to_owned()));
        }
        self.is_settled &= ask.settled_if.iter().all(|(pointer, wanted)| match answer.pointer(pointer) {
            Some(Value::String(text)) => text == wanted,
            Some(Value::Array(items)) => wanted.is_empty() && items.is_empty(),
            other => wanted.is_empty() && matches!(other, None | Some(Value::Null | Value::Bool(false))),
        });
    }
}

/// Asks the engine everything that it can answer.
pub(super) async fn ask(client: &Client, asks: &[Ask]) -> Stated {
    let mut stated = Stated { version: None, build: None, model: None, revision: None, dtype: None, is_settled: true };
    for ask in asks {
        match answer(client, ask.paths).await {
            Some(answer) => stated.read(ask, &answer),
            None => stated.is_settled = false,
        }
    }
    stated
}

/// The first of the paths that is answered well. What else it holds, secrets among it, goes no further.
async fn answer(client: &Client, paths: &[&str]) -> Option<Value> {
    for path in paths {
        let Ok(answer) = client.ask(Method::Get, path, "", LIMIT).await else { continue };
        if answer.status == 200 {
            return serde_json::from_slice(&answer.body).ok();
        }
    }
    None
}
