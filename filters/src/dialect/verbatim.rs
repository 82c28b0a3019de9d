//! How is a call asked in the caller's own protocol? Generation with what its hosts need, and an audio form with the upstream's name for
//! the model; what is large is not copied.

mod generation;

use super::{Answer, Asked, Caller, INVALID, NOT_REPLAYABLE, Raw, Reading, Whole, batches, is_type};
use crate::answer::{self, Content, Expected};
use crate::edit;
use crate::{multipart, names, paths};
use spillway_policies::surface::Task;
use spillway_policies::upstream::Kind;
use spillway_policies::verdict::Plan;
use spillway_policies::{Failure, Surface};

pub(super) fn ask(caller: Caller<'_>, plan: &Plan<'_>) -> Result<Asked, Failure> {
    let is_openai = matches!(plan.remote.upstream.kind, Kind::Openai(_));
    if caller.surface.task() == Task::Generate {
        return generation::ask(caller, plan, is_openai);
    }
    let model = plan.remote.model.as_str();
    let span = caller.model_span.clone().ok_or(NOT_REPLAYABLE)?;
    let boundary = multipart::boundary(caller.content_type).unwrap_or_default();
    Ok(Asked {
        path: paths::upstream_path(caller.surface, model, is_openai),
        accept: "*/*",
        content_type: format!("multipart/form-data; boundary=\"{}\"", String::from_utf8_lossy(boundary)),
        bodies: vec![edit::renamed(caller.format, caller.body.len(), span, model)],
        reading: {
            let back = super::Back::Verbatim(Back { expected: super::expected(caller, plan) });
            Reading::Whole(Box::new(Whole { most_bytes: batches::MOST_ANSWER_BYTES, back }))
        },
    })
}

#[derive(Debug)]
pub(super) struct Back {
    expected: Expected,
}

impl Back {
    pub(super) fn read(&self, answers: &[Raw]) -> Result<Answer, Failure> {
        let [answer] = answers else { return Err(INVALID) };
        let (content_type, content) = transcript_type(answer.content_type.as_deref());
        let body = answer::check(Surface::Audio, content, &answer.body, &self.expected)?.into_owned();
        Ok(Answer { content_type, body })
    }
}

/// The transcription formats of contract section 1.1; anything else is shown as plain text.
fn transcript_type(kind: Option<&[u8]>) -> (&'static str, Content) {
    if is_type(kind, names::JSON) {
        return (names::JSON, Content::Json);
    }
    let text = ["text/vtt", "application/x-subrip"].into_iter().find(|wanted| is_type(kind, wanted));
    (text.unwrap_or(Content::Text.mime()), Content::Text)
}
