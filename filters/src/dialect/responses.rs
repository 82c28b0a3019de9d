//! How is a responses call asked of a host that has no such endpoint, and its answer told as SIE tells it? (contract section 1.5)
//!
//! As chat. One plain text goes as it is to raw completions where SIE's own API was asked, which reads it so. Only what can be said
//! there is asked, and only whole answers are told.

mod input;

use super::finished::Finishing;
use super::host::Reader;
use super::{Answer, Asked, Caller, INVALID, NOT_REPLAYABLE, Raw, Reading, UNTRANSLATABLE, Whole, host};
use crate::answer::{Expected, finish};
use crate::edit::Outgoing;
use crate::names;
use crate::scan;
use crate::upstream_status::loose::Text;
use crate::validate::Dialect;
use crate::writer::json_text;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use spillway_policies::upstream::Kind;
use spillway_policies::verdict::Plan;
use spillway_policies::{Failure, Surface};

/// What has the same name and meaning on chat and completions.
const SAME: [&str; 4] = ["seed", "temperature", "top_p", "user"];

/// What is said anew.
const OWN: [&str; 6] = ["input", "instructions", "max_output_tokens", "model", "options", "stream"];

/// Whether this is a responses call whose input is a raw prompt, for a host that takes such.
pub(super) fn is_raw(caller: &Caller<'_>, plan: &Plan<'_>) -> bool {
    let is_sie = caller.surface == Surface::Responses && caller.dialect == Dialect::Sie;
    let is_host = matches!(plan.remote.upstream.kind, Kind::Openai(_));
    let takes_prompts = || plan.remote.asked_on(Surface::Completions).is_some();
    let is_text = || {
        let mut members = scan::members(caller.body).map_while(Result::ok);
        let input = members.find(|member| scan::is_key(&caller.body[member.key.clone()], "input"));
        input.is_some_and(|member| caller.body[member.value].starts_with(b"\""))
    };
    is_sie && is_host && takes_prompts() && is_text()
}

/// Puts the call to `surface`, chat or completions.
pub(super) fn ask(caller: Caller<'_>, plan: &Plan<'_>, surface: Surface) -> Result<Asked, Failure> {
    let mut call = Outgoing::read(caller.body).map_err(|_| NOT_REPLAYABLE)?;
    call.drop_empty();
    let is_known = call.iter().all(|(name, _)| SAME.contains(&name) || OWN.contains(&name));
    let is_profile_alone = call.value("options").is_none_or(super::is_profile_alone);
    if !is_known || !is_profile_alone {
        return Err(UNTRANSLATABLE);
    }
    let finishing = Finishing::of(&call, &caller, plan, surface)?;
    let call = translated(call, surface).ok_or(UNTRANSLATABLE)?;
    let body = host::body(call, &caller, plan, surface);
    // Reasoning is no part of a SIE response.
    let mut expected = Expected { choices: Some(1), ..super::expected(caller, plan) };
    expected.shown.include_reasoning = false;
    let back = super::Back::Responses(Back(Reader { surface, expected, finishing }));
    let reading = Reading::Whole(Box::new(Whole { most_bytes: host::MOST_TEXT_BYTES, back }));
    Ok(host::asked(plan, surface, body, reading))
}

/// `max_tokens` is the cap that every host takes; the newer name is for chat only, and not known everywhere.
fn translated(mut call: Outgoing<'_>, surface: Surface) -> Option<Outgoing<'_>> {
    if surface == Surface::Chat {
        let messages = input::messages(call.value("instructions"), call.value("input")?)?;
        call.put("messages", messages);
    } else {
        let is_plain = call.value("instructions").is_none() && call.value("input")?.starts_with(b"\"");
        is_plain.then(|| call.rename("input", "prompt"))?;
    }
    call.rename("max_output_tokens", "max_tokens");
    call.retain(|name| !OWN.contains(&name));
    Some(call)
}

/// Reads a whole chat or completions answer.
#[derive(Debug)]
pub(super) struct Back(Reader);

impl Back {
    pub(super) fn read(&self, answers: &[Raw]) -> Result<Answer, Failure> {
        let answer = self.0.read(answers)?;
        let told = if self.0.surface == Surface::Chat {
            chat(&answer).and_then(|(text, reason, usage)| self.told(text, reason, usage))
        } else {
            host::Completion::read(&answer).and_then(|said| self.told(said.text, said.finish_reason, said.usage))
        };
        Ok(Answer { content_type: names::JSON, body: told.ok_or(INVALID)? })
    }

    /// The response object around a raw text; none when the usage is not what was checked.
    fn told(&self, text: &[u8], finish_reason: &str, usage: &[u8]) -> Option<Vec<u8>> {
        let usage = serde_json::from_slice::<Usage>(usage).ok()?;
        let shown = &self.0.expected.shown;
        let message = format!("msg_{}", shown.id.strip_prefix("resp_").unwrap_or(&shown.id));
        let is_whole = finish_reason == "stop";
        let status = if is_whole { "completed" } else { "incomplete" };
        let mut out = Vec::with_capacity(text.len() + 512);
        let mut say = |part: &[u8]| out.extend_from_slice(part);
        say(b"{\"id\":");
        say(&json_text(&shown.id));
        say(format!(",\"object\":\"response\",\"created_at\":{},\"model\":", shown.created_s).as_bytes());
        say(&json_text(&shown.model));
        say(format!(",\"status\":\"{status}\"").as_bytes());
        if !is_whole {
            say(br#","incomplete_details":{"reason":"max_output_tokens"}"#);
        }
        say(br#","output":[{"type":"message","id":"#);
        say(&json_text(&message));
        say(format!(r#","role":"assistant","status":"{status}","content":[{{"type":"output_text","text":"#).as_bytes());
        say(text);
        say(br#","annotations":[]}]}],"usage":"#);
        say(usage.to_json().as_bytes());
        say(b"}");
        Some(out)
    }
}

/// The raw text, the end and the raw usage of a checked chat answer of one choice; none when it says anything but text, or the host
/// held it back.
fn chat(answer: &[u8]) -> Option<(&[u8], &'static str, &[u8])> {
    let Chat { choices: [choice], usage } = serde_json::from_slice(answer).ok()?;
    let finish_reason = finish::of_text(&choice.finish_reason.0)?;
    let is_text = choice.message.refusal.is_none() && choice.message.tool_calls.is_none();
    let text = choice.message.content.map_or(&b"\"\""[..], |content| content.get().as_bytes());
    (is_text && text.starts_with(b"\"")).then_some((text, finish_reason, usage.get().as_bytes()))
}

#[derive(Deserialize)]
struct Chat<'a> {
    #[serde(borrow)]
    choices: [Choice<'a>; 1],
    #[serde(borrow)]
    usage: &'a RawValue,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    message: Message<'a>,
    #[serde(borrow)]
    finish_reason: Text<'a>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    refusal: Option<IgnoredAny>,
    #[serde(default)]
    tool_calls: Option<IgnoredAny>,
}

/// Usage as chat and completions count it.
#[derive(Deserialize)]
struct Usage {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    #[serde(default)]
    prompt_tokens_details: Option<Cached>,
}

#[derive(Deserialize)]
struct Cached {
    cached_tokens: u64,
}

impl Usage {
    /// As responses count it.
    fn to_json(&self) -> String {
        let (input, output, total) = (self.prompt_tokens, self.completion_tokens, self.total_tokens);
        let cached = self.prompt_tokens_details.as_ref().map(|details| details.cached_tokens);
        let cached = cached.map(|cached| format!(r#","input_tokens_details":{{"cached_tokens":{cached}}}"#));
        let cached = cached.unwrap_or_default();
        format!(r#"{{"input_tokens":{input},"output_tokens":{output},"total_tokens":{total}{cached}}}"#)
    }
}
