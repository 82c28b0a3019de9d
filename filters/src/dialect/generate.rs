//! How is a generate call asked of a host with raw completions, and its answer told as SIE tells it? (contract sections 1.4 and 6)
//!
//! A buffered caller is asked buffered, and answered here; a stream comes back through `stream/choices.rs`, written by `stream/events.rs`.
//! What completions have no field for is refused before anything is sent, never dropped.

use super::finished::Finishing;
use super::host::Reader;
use super::{Answer, Asked, Caller, INVALID, NOT_REPLAYABLE, Raw, Reading, UNTRANSLATABLE, Whole, host};
use crate::answer::{Content, Expected, Members};
use crate::edit::Outgoing;
use crate::names;
use spillway_policies::verdict::Plan;
use spillway_policies::{Failure, Surface};

/// What has the same name and meaning on both surfaces.
const SAME: [&str; 7] = ["frequency_penalty", "logit_bias", "presence_penalty", "seed", "stop", "temperature", "top_p"];

/// What `options.default_sampling` can say that completions can be asked for.
const SAMPLING: [&str; 5] = ["frequency_penalty", "presence_penalty", "seed", "temperature", "top_p"];

/// Hints for SIE's own transport, and what is said anew.
const DROPPED: [&str; 8] =
    ["logprobs", "model", "options", "prompt_cache_key", "routing_key", "safety_identifier", "stream", "top_logprobs"];

pub(super) fn ask(caller: Caller<'_>, plan: &Plan<'_>) -> Result<Asked, Failure> {
    let mut call = Outgoing::read(caller.body).map_err(|_| NOT_REPLAYABLE)?;
    call.drop_empty();
    let stream = caller.details.stream;
    let logprobs = logprobs(&call, stream)?;
    let finishing = Finishing::of(&call, &caller, plan, Surface::Completions)?;
    let mut call = translated(call)?;
    if let Some(top) = logprobs {
        call.put("logprobs", top.to_string());
    }
    let body = host::body(call, &caller, plan, Surface::Completions);
    let expected = Expected { choices: Some(1), logprobs: logprobs.is_some(), ..super::expected(caller, plan) };
    let reading = if stream {
        finishing.stream(Surface::Generate, Surface::Completions, &expected)
    } else {
        let back = super::Back::Generate(Back(Reader { surface: Surface::Completions, expected, finishing }));
        Reading::Whole(Box::new(Whole { most_bytes: host::MOST_TEXT_BYTES, back }))
    };
    Ok(host::asked(plan, Surface::Completions, body, reading))
}

/// How many alternatives of each token to ask for; none when log-probabilities are not wanted. A whole native answer has no place for
/// them.
fn logprobs(call: &Outgoing<'_>, stream: bool) -> Result<Option<u8>, Failure> {
    let top = match call.value("top_logprobs") {
        Some(top) => Some(serde_json::from_slice::<u8>(top).map_err(|_| UNTRANSLATABLE)?),
        None => None,
    };
    match call.value("logprobs") {
        Some(b"true") if stream => Ok(Some(top.unwrap_or(1))),
        Some(b"false") | None if top.unwrap_or(0) == 0 => Ok(None),
        _ => Err(UNTRANSLATABLE),
    }
}

/// The call in the words of completions, log-probabilities aside.
fn translated(mut call: Outgoing<'_>) -> Result<Outgoing<'_>, Failure> {
    let sampling = sampling(&call).ok_or(UNTRANSLATABLE)?;
    let takes = |name| SAME.contains(&name) || DROPPED.contains(&name) || matches!(name, "prompt" | "max_new_tokens");
    let is_text = call.value("prompt").is_some_and(|prompt| prompt.starts_with(b"\""));
    if !is_text || !call.iter().all(|(name, _)| takes(name)) {
        return Err(UNTRANSLATABLE);
    }
    call.retain(|name| !DROPPED.contains(&name));
    call.rename("max_new_tokens", "max_tokens");
    for (name, value) in sampling {
        if call.value(name).is_none() {
            call.put(name, value);
        }
    }
    Ok(call)
}

/// What samples when the call itself does not say: what its `options` say, and SIE's own defaults. None when they say what completions
/// cannot be asked for.
fn sampling(call: &Outgoing<'_>) -> Option<Vec<(&'static str, Vec<u8>)>> {
    let mut said = Vec::new();
    if let Some(options) = call.value("options") {
        let mut options = Members::read(Content::Json, options)?;
        options.retain(|name| name != "profile");
        for (name, value) in options.iter().filter(|(_, value)| *value != b"null") {
            let sampling = Members::read(Content::Json, value).filter(|_| name == "default_sampling")?;
            for (name, value) in sampling.iter().filter(|(_, value)| *value != b"null") {
                said.push((SAMPLING.into_iter().find(|known| *known == name)?, value.to_vec()));
            }
        }
    }
    for name in ["temperature", "top_p"] {
        if !said.iter().any(|(known, _)| *known == name) {
            said.push((name, b"1.0".to_vec()));
        }
    }
    Some(said)
}

/// Reads a whole completions answer.
#[derive(Debug)]
pub(super) struct Back(Reader);

impl Back {
    pub(super) fn read(&self, answers: &[Raw]) -> Result<Answer, Failure> {
        let answer = self.0.read(answers)?;
        let completion = host::Completion::read(&answer).ok_or(INVALID)?;
        let mut told = Members::empty(Content::Json);
        // What comes in first stands last.
        told.set("usage", completion.usage);
        told.set_text("finish_reason", completion.finish_reason);
        told.set("text", completion.text);
        told.set_text("model", &self.0.expected.shown.model);
        Ok(Answer { content_type: names::JSON, body: told.to_bytes() })
    }
}
