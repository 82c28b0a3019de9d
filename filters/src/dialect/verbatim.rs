//! How is a call asked in the caller's own protocol? Generation with what its hosts need, and an audio form with the upstream's name for
//! the model; what is large is not copied.

mod generation;

use super::{Answer, Asked, Caller, INVALID, NOT_REPLAYABLE, Raw, Reading, UNTRANSLATABLE, Whole, batches, is_type};
use crate::answer::{self, Content, Expected};
use crate::call::Transcript;
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
    let transcript = caller.details.transcript.ok_or(UNTRANSLATABLE)?;
    let span = caller.model_span.clone().ok_or(NOT_REPLAYABLE)?;
    let boundary = multipart::boundary(caller.content_type).unwrap_or_default();
    Ok(Asked {
        path: paths::upstream_path(caller.surface, model, is_openai),
        accept: "*/*",
        content_type: format!("multipart/form-data; boundary=\"{}\"", String::from_utf8_lossy(boundary)),
        bodies: vec![edit::renamed(caller.format, caller.body.len(), span, model)],
        reading: {
            let back = super::Back::Verbatim(Back { transcript, expected: super::expected(caller, plan) });
            Reading::Whole(Box::new(Whole { most_bytes: batches::MOST_ANSWER_BYTES, back }))
        },
    })
}

#[derive(Debug)]
pub(super) struct Back {
    transcript: Transcript,
    expected: Expected,
}

impl Back {
    pub(super) fn read(&self, answers: &[Raw]) -> Result<Answer, Failure> {
        let [answer] = answers else { return Err(INVALID) };
        let content_type = transcript_type(self.transcript, answer.content_type.as_deref()).ok_or(INVALID)?;
        let content = if self.transcript == Transcript::Json { Content::Json } else { Content::Text };
        let body = answer::check(Surface::Audio, content, &answer.body, &self.expected)?.into_owned();
        Ok(Answer { content_type, body })
    }
}

/// The content type under which a transcript is shown; none when the answer's is not one of a transcript as it was asked for (contract
/// section 1.1). A page, an error or a stream is none.
fn transcript_type(transcript: Transcript, kind: Option<&[u8]>) -> Option<&'static str> {
    let types: &[&'static str] = match transcript {
        Transcript::Json => &[names::JSON],
        Transcript::Srt => &["application/x-subrip", "text/plain"],
        Transcript::Text => &["text/plain"],
        Transcript::Vtt => &["text/vtt"],
    };
    let found = types.iter().copied().find(|wanted| is_type(kind, wanted))?;
    Some(if found == "text/plain" { Content::Text.mime() } else { found })
}
