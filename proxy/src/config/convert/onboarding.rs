//! `chat_template_file`, `tool_format`, `reasoning`: how a model writes, for upstreams that leave it to us.

use super::surroundings::Surroundings;
use crate::config::table::{Node, Place, Table};
use spillway_policies::routing::Onboarding;

/// Reads the keys, and notes where they stand: a local profile has none.
pub(super) fn onboarding<'t>(
    table: &mut Table<'t>,
    surroundings: &Surroundings<'_>,
    places: &mut Vec<Place<'t>>,
) -> Onboarding {
    let mut onboarding = Onboarding::default();
    if let Some(node) = table.take("chat_template_file") {
        onboarding.chat_template = surroundings.small_file(&node);
        places.push(node.name);
    }
    if let Some(node) = table.take("tool_format") {
        onboarding.tool_format = word(&node);
        places.push(node.name);
    }
    if let Some(node) = table.take("reasoning") {
        reasoning(&node, &mut onboarding);
        places.push(node.name);
    }
    onboarding
}

fn reasoning(node: &Node<'_>, onboarding: &mut Onboarding) {
    let Some(mut table) = node.table() else { return };
    let format = table.need("format", "the name of the model family's way to mark its reasoning");
    onboarding.reasoning_format = format.and_then(|format| word(&format));
    onboarding.hides_reasoning = table.flag_or("hidden", true);
    table.finish();
}

fn word(node: &Node<'_>) -> Option<String> {
    let is_word = |text: &str| {
        (1..=64).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    let text = node.text()?;
    if is_word(text) {
        return Some(text.to_owned());
    }
    node.place.wrong("must be one word of letters, digits, ., _ and -, at most 64", "");
    None
}
