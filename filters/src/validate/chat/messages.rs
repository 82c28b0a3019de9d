//! What is a chat message (contract section 1.5)?

use crate::validate::notes::Notes;
use crate::validate::rule::{List, Rule, Table, Text, UNSUPPORTED, field};
use crate::validate::seen::{Disagreement, Facts, Seen, Wrong};

const ROLES: &[&str] = &["assistant", "developer", "system", "tool", "user"];
const ASSISTANT: Option<u8> = Some(0);
const TOOL: Option<u8> = Some(3);

pub(super) static SIE: Table = Table::of(&[
    field!("role", Rule::Text(Text::word(ROLES)), "`system`, `developer`, `user`, `assistant` or `tool`").required(),
    field!("tool_calls", Rule::List(&List::of(Rule::OBJECT)), "a list of objects"),
    field!("tool_call_id", Rule::Any, "a text, and stand in messages of the role `tool` only"),
    field!(
        "content",
        Rule::OneOf(&[Rule::TEXT, Rule::List(&List::of(Rule::Object(&PART)))]),
        "a text or a list of parts"
    ),
])
.agreeing(fit_together);

fn fit_together(message: &Facts<'_>, _: &Notes) -> Option<Disagreement> {
    let Seen::Text { word: role, .. } = message.of("role") else { return None };
    let id = message.of("tool_call_id");
    if if role == TOOL { !id.is_filled() } else { id.is_given() } {
        return Some(Disagreement::at("tool_call_id", Wrong::PLAIN));
    }
    let silent = role == ASSISTANT && message.of("tool_calls").is_given();
    (!message.of("content").is_given() && !silent).then(|| Disagreement::at("content", Wrong::PLAIN))
}

/// The types of a part; the first two are text.
const PARTS: &[&str] = &["text", "input_text", "image_url", "input_image", "video_url"];

static PART: Table = Table::of(&[
    field!("type", Rule::Text(Text::word(PARTS)), "`text`, `image_url` or `video_url`").required().coded(UNSUPPORTED),
    field!("text", Rule::Any, "a text in a part of text"),
    field!("image_url", Rule::Any, "there in a part with an image"),
    field!("video_url", Rule::Any, "there in a part with a video"),
])
.agreeing(part_is_whole);

fn part_is_whole(part: &Facts<'_>, _: &Notes) -> Option<Disagreement> {
    let Seen::Text { word: Some(kind), .. } = part.of("type") else { return None };
    let (field, there) = match kind {
        0 | 1 => ("text", matches!(part.of("text"), Seen::Text { .. })),
        2 | 3 => ("image_url", part.of("image_url") != Seen::Absent),
        _ => ("video_url", part.of("video_url") != Seen::Absent),
    };
    (!there).then(|| Disagreement::at(field, Wrong::PLAIN))
}

/// Engines differ in roles and parts: only the shape is checked.
pub(super) static OPENAI: Table = Table::of(&[
    field!("role", Rule::FILLED, "a text").required(),
    field!(
        "content",
        Rule::OneOf(&[Rule::TEXT, Rule::List(&List::of(Rule::Object(&OPENAI_PART)))]),
        "a text or a list of parts"
    ),
    field!("tool_calls", Rule::List(&List::of(Rule::OBJECT)), "a list of objects"),
]);

static OPENAI_PART: Table = Table::of(&[field!("type", Rule::FILLED, "a text").required()]);
