//! `chat_template_file`, `tool_format`, `reasoning`: how a model writes, for upstreams that leave it to us.

use super::surroundings::Surroundings;
use crate::config::table::{Node, Place, Table, did_you_mean};
use spillway_filters::reasoning;
use spillway_filters::template::{Conversation, LONGEST_FILE, NotRendered, Template};
use spillway_filters::tools::ToolFormat;
use spillway_policies::Surface;
use spillway_policies::routing::{Onboarding, Remote};

/// Reads the keys, and notes where they stand: a local profile has none.
pub(super) fn onboarding<'t>(
    table: &mut Table<'t>,
    surroundings: &Surroundings<'_>,
    places: &mut Vec<Place<'t>>,
) -> Onboarding {
    let mut onboarding = Onboarding::default();
    if let Some(node) = table.take("chat_template_file") {
        onboarding.chat_template =
            surroundings.contents(&node, LONGEST_FILE).filter(|text| compiles(text, &node.place));
        places.push(node.name);
    }
    if let Some(node) = table.take("tool_format") {
        onboarding.tool_format = one_of(&node, &ToolFormat::NAMES);
        places.push(node.name);
    }
    if let Some(node) = table.take("reasoning") {
        reasoning(&node, &mut onboarding);
        places.push(node.name);
    }
    onboarding
}

/// What is said here and never used is a misunderstanding.
pub(super) fn check_used(remote: &Remote, place: &Place<'_>) {
    let is_rendered = remote.asked_on(Surface::Chat) == Some(Surface::Completions);
    let onboarding = &remote.onboarding;
    if onboarding.chat_template.is_some() && !is_rendered {
        place.warn(
            "has a chat template that is never used: its upstream is not asked for raw completions",
            "a template is for an upstream of kind openai that declares the endpoint completions",
        );
    }
    if onboarding.tool_format.is_some() && !is_rendered {
        place.warn(
            "has a tool_format that is never used: tool calls are read here only where chats are rendered here",
            "give a chat_template_file too, for an upstream that declares the endpoint completions",
        );
    }
}

/// Whether a chat template can be used; the file is the operator's, its text stays out of what is said about it.
fn compiles(text: &str, place: &Place<'_>) -> bool {
    let hint = "name a Jinja chat template, or a tokenizer_config.json that has one";
    let template = match Template::compile(text) {
        Ok(template) => template,
        Err(bad) => {
            place.wrong(bad.to_string(), hint);
            return false;
        }
    };
    // Filters and tests are looked up while a template renders: better now than at the first call.
    let trial = Conversation { messages: TRIAL.as_bytes(), tools: None, kwargs: None, now_s: 0 };
    if let Err(problem @ (NotRendered::Broken { .. } | NotRendered::TooManySteps | NotRendered::TooLong)) =
        template.render(&trial)
    {
        place.warn(format!("cannot render a plain conversation: {problem}"), hint);
    }
    true
}

const TRIAL: &str = r#"[{"role":"user","content":"hello"}]"#;

fn reasoning(node: &Node<'_>, onboarding: &mut Onboarding) {
    let Some(mut table) = node.table() else { return };
    let format = table.need("format", "the name of the model family's way to mark its reasoning");
    onboarding.reasoning_format = format.and_then(|format| one_of(&format, &reasoning::names().collect::<Vec<_>>()));
    onboarding.hides_reasoning = table.flag_or("hidden", true);
    table.finish();
}

fn one_of(node: &Node<'_>, names: &[&str]) -> Option<String> {
    let text = node.text()?;
    if names.contains(&text) {
        return Some(text.to_owned());
    }
    let hint = match did_you_mean(text, names.iter().copied()) {
        near if near.is_empty() => format!("known here: {}", names.join(", ")),
        near => near,
    };
    node.place.wrong("is not a format that this version knows", hint);
    None
}
