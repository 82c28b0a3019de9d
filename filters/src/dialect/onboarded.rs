//! How is a chat asked of a host with raw completions, when the model's chat template is known here? (product section 3, contract 1.5)
//!
//! The template renders the prompt, and the model's marks are read in its text: private reasoning and tool calls. What could only be
//! enforced while the model writes is not asked this way. No tokens are counted here, so there is no tokenizer: usage is what the host
//! states, and a prompt of too many is the host's to refuse.

mod compiled;
mod conversation;

use super::finished::{self, Finishing};
use super::host::{self, Reader};
use super::{Answer, Asked, Caller, INVALID, NOT_REPLAYABLE, Raw, Reading, UNSUPPORTED, UNTRANSLATABLE, Whole};
use crate::answer::Expected;
use crate::edit::Outgoing;
use crate::marks::{Heard, Marks};
use crate::names;
use crate::template::{Conversation, NotRendered};
use crate::tools::{ToolFormat, ToolReader, call_id};
use crate::writer::json_text;
use spillway_policies::verdict::Plan;
use spillway_policies::{Cause, Class, Failure, Surface};

/// What has the same name and meaning on completions.
const SAME: [&str; 10] = [
    "frequency_penalty",
    "logit_bias",
    "max_completion_tokens",
    "max_tokens",
    "presence_penalty",
    "seed",
    "stop",
    "temperature",
    "top_p",
    "user",
];

/// What is said anew, or is for us.
const OWN: [&str; 15] = [
    "chat_template_kwargs",
    "include_reasoning",
    "logprobs",
    "messages",
    "model",
    "n",
    "options",
    "parallel_tool_calls",
    "response_format",
    "schema_in_prompt",
    "stream",
    "stream_options",
    "tool_choice",
    "tools",
    "top_logprobs",
];

/// Most tool calls of one answer.
const MAX_CALLS: usize = 128;

pub(super) fn ask(caller: Caller<'_>, plan: &Plan<'_>) -> Result<Asked, Failure> {
    let mut call = Outgoing::read(caller.body).map_err(|_| NOT_REPLAYABLE)?;
    call.drop_empty();
    let tools = said(&call)?;
    let prompt = prompt(&call, tools.is_some(), caller.created_s, plan)?;
    let marks = marks(&prompt, tools, plan)?;
    call.retain(|name| !OWN.contains(&name));
    if call.value("max_completion_tokens").is_some() {
        call.retain(|name| name != "max_tokens");
        call.rename("max_completion_tokens", "max_tokens");
    }
    call.put_text("prompt", &prompt);
    let body = host::body(call, &caller, plan, Surface::Completions);
    let (stream, include_reasoning) = (caller.details.stream, caller.details.include_reasoning);
    let expected = Expected { choices: Some(1), ..super::expected(caller, plan) };
    let finishing = Finishing::reading(marks, include_reasoning);
    let reading = if stream {
        finishing.stream(Surface::Chat, Surface::Completions, &expected)
    } else {
        let back = super::Back::Onboarded(Back(Reader { surface: Surface::Completions, expected, finishing }));
        Reading::Whole(Box::new(Whole { most_bytes: host::MOST_TEXT_BYTES, back }))
    };
    Ok(host::asked(plan, Surface::Completions, body, reading))
}

/// The names of the tools that the model may call; none when it may call none. An error when the call says more than a prompt can.
fn said(call: &Outgoing<'_>) -> Result<Option<Vec<String>>, Failure> {
    let is_said = |name, harmless: &[&[u8]]| call.value(name).is_some_and(|value| !harmless.contains(&value));
    let is_known = call.iter().all(|(name, _)| SAME.contains(&name) || OWN.contains(&name));
    let asks_more = !is_known
        || is_said("n", &[b"1"])
        || is_said("logprobs", &[b"false"])
        || is_said("top_logprobs", &[b"0"])
        || call.value("response_format").is_some_and(|format| !conversation::is_text_format(format))
        || call.value("options").is_some_and(|options| !super::is_profile_alone(options));
    if asks_more {
        return Err(UNTRANSLATABLE);
    }
    let Some(tools) = call.value("tools").filter(|_| call.value("tool_choice") != Some(b"\"none\"")) else {
        return Ok(None);
    };
    // That a tool must be called, or only one, cannot be enforced on a finished text.
    if is_said("tool_choice", &[b"\"auto\""]) || is_said("parallel_tool_calls", &[b"true"]) {
        return Err(UNTRANSLATABLE);
    }
    conversation::tool_names(tools).map(Some).ok_or(UNTRANSLATABLE)
}

fn prompt(call: &Outgoing<'_>, has_tools: bool, now_s: u64, plan: &Plan<'_>) -> Result<String, Failure> {
    let source = plan.remote.onboarding.chat_template.as_deref().ok_or(UNSUPPORTED)?;
    let template = compiled::template(source).ok_or(UNSUPPORTED)?;
    let messages = call.value("messages").and_then(conversation::messages).ok_or(UNTRANSLATABLE)?;
    let asked = Conversation {
        messages: &messages,
        tools: call.value("tools").filter(|_| has_tools),
        kwargs: call.value("chat_template_kwargs"),
        now_s,
    };
    template.render(&asked).map_err(|why| match why {
        NotRendered::Malformed(_) | NotRendered::Refused => UNTRANSLATABLE,
        NotRendered::TooLong => Failure::new(Cause::Unsupported, Class::TooLong),
        NotRendered::Broken { .. } | NotRendered::TooManySteps => UNSUPPORTED,
    })
}

fn marks(prompt: &str, tools: Option<Vec<String>>, plan: &Plan<'_>) -> Result<Marks, Failure> {
    let reader = |tools| {
        let format = plan.remote.onboarding.tool_format.as_deref().and_then(ToolFormat::from_name);
        format.map(|format| ToolReader::new(format, tools)).ok_or(UNTRANSLATABLE)
    };
    // Only what the template itself writes last: a marker in what the caller wrote is its words.
    let last = prompt.trim_end().rsplit(|letter: char| letter.is_ascii_whitespace()).next().unwrap_or_default();
    let (reasoning, tools) = (finished::hidden(plan, Some(last))?, tools.map(reader).transpose()?);
    Ok(Marks { reasoning, tools })
}

/// Reads a whole completions answer as chat.
#[derive(Debug)]
pub(super) struct Back(Reader);

impl Back {
    pub(super) fn read(&self, answers: &[Raw]) -> Result<Answer, Failure> {
        let answer = self.0.checked(answers)?;
        let completion = host::Completion::read(&answer).ok_or(INVALID)?;
        let text: String = serde_json::from_slice(completion.text).map_err(|_| INVALID)?;
        let heard = self.0.finishing.marks.clone().read(&text);
        (heard.calls.len() <= MAX_CALLS).then_some(()).ok_or(INVALID)?;
        // A whole call counts, also where the text was cut behind it.
        let finish_reason = if heard.calls.is_empty() { completion.finish_reason } else { "tool_calls" };
        let mut out = Vec::with_capacity(text.len() + 512);
        self.0.expected.shown.open("chat.completion", &mut out);
        out.extend_from_slice(br#","choices":[{"index":0,"message":"#);
        self.message(&heard, &mut out);
        out.extend_from_slice(format!(r#","logprobs":null,"finish_reason":"{finish_reason}"}}],"usage":"#).as_bytes());
        out.extend_from_slice(completion.usage);
        out.push(b'}');
        Ok(Answer { content_type: names::JSON, body: out })
    }

    fn message(&self, heard: &Heard<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(br#"{"role":"assistant","content":"#);
        let is_null = heard.text.is_empty() && !heard.calls.is_empty();
        out.extend_from_slice(&if is_null { b"null".to_vec() } else { json_text(&heard.text) });
        if self.0.finishing.include_reasoning && !heard.hidden.is_empty() {
            out.extend_from_slice(br#","reasoning_content":"#);
            out.extend_from_slice(&json_text(&heard.hidden));
        }
        let answer = &self.0.expected.shown.id;
        for (place, (name, arguments)) in heard.calls.iter().enumerate() {
            out.extend_from_slice(if place == 0 { br#","tool_calls":[{"id":"# } else { br#",{"id":"# });
            out.extend_from_slice(&json_text(&call_id(answer, 0, place)));
            out.extend_from_slice(br#","type":"function","function":{"name":"#);
            out.extend_from_slice(&json_text(name));
            out.extend_from_slice(br#","arguments":"#);
            out.extend_from_slice(&json_text(arguments));
            out.extend_from_slice(b"}}");
        }
        if !heard.calls.is_empty() {
            out.push(b']');
        }
        out.push(b'}');
    }
}
