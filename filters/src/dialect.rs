//! How is a call put to an upstream, and its answer read back?
//!
//! A call has one way out, a file, and its whole answer the same way back:
//!
//! | call | asked as | file |
//! |---|---|---|
//! | chat, completions, responses, generate, audio | the same | `verbatim.rs`, `verbatim/generation.rs` |
//! | chat of an onboarded model | completions | `onboarded.rs` |
//! | generate | completions | `generate.rs` |
//! | responses | chat or completions | `responses.rs` |
//! | embeddings | the same, in batches | `embeddings.rs` |
//! | rerank, both versions | the first | `rerank.rs` |
//! | encode, score, extract | the same, of a SIE | `native.rs` |
//! | encode | embeddings | `vectors.rs`, its numbers in `dtype.rs` |
//! | score | rerank | `scores.rs` |
//!
//! Shared by several: `host.rs` (generation at an OpenAI host), `finished.rs` (reasoning and schemas in the text), `items.rs` (native
//! items as texts) and `batches.rs`. A streamed answer comes back through [`Stream`].

mod batches;
mod dtype;
mod embeddings;
mod finished;
mod generate;
mod host;
mod items;
mod native;
mod onboarded;
mod rerank;
mod responses;
mod scores;
mod vectors;
mod verbatim;

use crate::answer::{self, Content, Expected, Members};
use crate::call::{Details, Format};
use crate::edit::Piece;
use crate::shape::Shown;
use crate::stream::Stream;
use crate::validate::Dialect;
use spillway_policies::verdict::Plan;
use spillway_policies::{Cause, Class, Failure, Surface};
use std::fmt;
use std::ops::Range;

/// A call, as far as it decides what an upstream is asked.
#[derive(Clone)]
pub struct Caller<'a> {
    /// The surface it came on.
    pub surface: Surface,
    /// Whose API that is: what a field means follows the engine.
    pub dialect: Dialect,
    /// The format of its body.
    pub format: Format,
    /// Its content type, for the boundary of a form.
    pub content_type: &'a [u8],
    /// What the caller reads: JSON or msgpack.
    pub reads: Content,
    /// Its whole body.
    pub body: &'a [u8],
    /// The model's name as it was written.
    pub model: &'a str,
    /// Where the body names the model, when it does.
    pub model_span: Option<Range<usize>>,
    /// The path was `/v2/rerank`.
    pub second_rerank: bool,
    /// What its body says.
    pub details: &'a Details,
    /// An id of our own for the answer.
    pub id: String,
    /// When the answer is made, in seconds since 1970.
    pub created_s: u64,
}

/// What an upstream is asked, and how its answer is read.
#[derive(Debug)]
pub struct Asked {
    /// The path, from the upstream's base path on.
    pub path: String,
    /// What we accept.
    pub accept: &'static str,
    /// The format of the bodies.
    pub content_type: String,
    /// One body for each request, in order: pieces of the held body and new bytes. More than one only when the answer is read whole.
    pub bodies: Vec<Vec<Piece>>,
    /// How the answer is read.
    pub reading: Reading,
}

/// How an answer is read.
#[derive(Debug)]
pub enum Reading {
    /// Event by event.
    Stream(Box<Stream>),
    /// Whole.
    Whole(Box<Whole>),
}

/// One whole 2xx answer of an upstream.
#[derive(Clone)]
pub struct Raw {
    /// Its content type.
    pub content_type: Option<Vec<u8>>,
    /// Its body.
    pub body: Vec<u8>,
}

/// What the caller gets.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    /// Its content type.
    pub content_type: &'static str,
    /// Its body.
    pub body: Vec<u8>,
}

/// Says how much there is, never what: bodies are the caller's and the upstream's own words.
macro_rules! without_bodies {
    ($($name:ident $(<$life:lifetime>)?),+) => {
        $(impl fmt::Debug for $name $(<$life>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("bytes", &self.body.len()).finish_non_exhaustive()
            }
        })+
    };
}

without_bodies!(Caller<'_>, Raw, Answer);

/// Reads whole answers, one for each request.
#[derive(Debug)]
pub struct Whole {
    most_bytes: usize,
    back: Back,
}

/// The way back, one for each way out.
#[derive(Debug)]
enum Back {
    Embeddings(embeddings::Back),
    Generate(generate::Back),
    Generated(host::Reader),
    Native(native::Back),
    Onboarded(onboarded::Back),
    Rerank(rerank::Back),
    Responses(responses::Back),
    Scores(scores::Back),
    Vectors(vectors::Back),
    Verbatim(verbatim::Back),
}

impl Whole {
    /// Most bytes of one answer's body (contract section 5, answer bounds).
    #[must_use]
    pub const fn most_bytes(&self) -> usize {
        self.most_bytes
    }

    /// Checks one of several answers as it comes, so that a bad one is the last that is asked for.
    ///
    /// # Errors
    /// It is not a valid answer to the request at `place`, or it is an error under a success status.
    pub fn check(&self, place: usize, answer: &Raw) -> Result<(), Failure> {
        match &self.back {
            Back::Embeddings(back) => batches::check(place, answer, &back.batches),
            Back::Native(back) => back.check(place, answer),
            Back::Vectors(back) => batches::check(place, answer, &back.batches),
            Back::Generate(_)
            | Back::Generated(_)
            | Back::Onboarded(_)
            | Back::Rerank(_)
            | Back::Responses(_)
            | Back::Scores(_)
            | Back::Verbatim(_) => Ok(()),
        }
    }

    /// Checks the answers and writes the caller's.
    ///
    /// # Errors
    /// An answer is not a valid one for what was asked, or it is an error under a success status.
    pub fn read(&self, answers: &[Raw]) -> Result<Answer, Failure> {
        match &self.back {
            Back::Embeddings(back) => back.read(answers),
            Back::Generate(back) => back.read(answers),
            Back::Generated(reader) => reader.answer(answers),
            Back::Native(back) => back.read(answers),
            Back::Onboarded(back) => back.read(answers),
            Back::Rerank(back) => back.read(answers),
            Back::Responses(back) => back.read(answers),
            Back::Scores(back) => back.read(answers),
            Back::Vectors(back) => back.read(answers),
            Back::Verbatim(back) => back.read(answers),
        }
    }
}

/// Puts a call to the upstream of `plan`.
///
/// # Errors
/// The upstream cannot be asked for this call.
pub fn ask(caller: Caller<'_>, plan: &Plan<'_>) -> Result<Asked, Failure> {
    if caller.details.rejection.is_some() {
        return Err(UNACCEPTED);
    }
    if caller.surface == Surface::Responses && caller.details.stream {
        // No upstream streams them (contract section 1.5).
        return Err(UNTRANSLATABLE);
    }
    let surface = if responses::is_raw(&caller, plan) {
        Surface::Completions
    } else {
        plan.remote.asked_on(caller.surface).ok_or(UNSUPPORTED)?
    };
    match (caller.surface, surface) {
        (Surface::Embeddings, _) => embeddings::ask(caller, plan),
        (Surface::Encode, Surface::Embeddings) => vectors::ask(&caller, plan),
        (Surface::Encode | Surface::Extract, _) | (Surface::Score, Surface::Score) => native::ask(caller, plan),
        (Surface::Rerank, _) => rerank::ask(caller, plan),
        (Surface::Score, _) => scores::ask(&caller, plan),
        (asked, same) if asked == same => verbatim::ask(caller, plan),
        (Surface::Chat, Surface::Completions) => chat(caller, plan),
        (Surface::Generate, Surface::Completions) => generate::ask(caller, plan),
        (Surface::Responses, Surface::Chat | Surface::Completions) => responses::ask(caller, plan, surface),
        _ => Err(UNSUPPORTED),
    }
}

/// A chat of an onboarded model, rendered here. What cannot be asked so goes out as chat where the host has that too.
fn chat(caller: Caller<'_>, plan: &Plan<'_>) -> Result<Asked, Failure> {
    let has_chat = plan.remote.upstream.asked_on(Surface::Chat, false).is_some();
    match onboarded::ask(caller.clone(), plan) {
        Err(failure) if failure == UNTRANSLATABLE && has_chat => verbatim::ask(caller, plan),
        asked => asked,
    }
}

/// What the caller's call and the model's declaration say about the answer.
fn expected(caller: Caller<'_>, plan: &Plan<'_>) -> Expected {
    let (details, tasks) = (caller.details, plan.tasks);
    let output_cap = host::output_cap(&caller, plan);
    Expected {
        shown: Shown {
            model: caller.model.to_owned(),
            id: caller.id,
            created_s: caller.created_s,
            include_reasoning: details.include_reasoning,
            include_usage: details.include_usage,
        },
        choices: details.choices,
        dim: tasks.dense_dim,
        sparse_dim: tasks.sparse.and_then(|sparse| sparse.dim),
        multivector_dim: tasks.multivector_dim,
        context: tasks.context_length,
        output_cap,
        top_n: details.top_n,
        logprobs: details.logprobs,
        ..Expected::default()
    }
}

/// Most messages of one call (contract section 1.5).
const MAX_MESSAGES: usize = 4096;

/// The raw messages of a list; none when there are none or too many.
fn messages(raw: &[u8]) -> Option<Vec<&[u8]>> {
    answer::values(Content::Json, raw).filter(|messages| (1..=MAX_MESSAGES).contains(&messages.len()))
}

/// Whether `options` say nothing beside a profile of ours, which is used up.
fn is_profile_alone(options: &[u8]) -> bool {
    Members::read(Content::Json, options).is_some_and(|options| options.iter().all(|(name, _)| name == "profile"))
}

/// The upstream has no way to serve this call.
const UNSUPPORTED: Failure = Failure::new(Cause::Unsupported, Class::Final);

/// The call has a field that is not accepted; the engine, which judges first, did not mind.
const UNACCEPTED: Failure = Failure::new(Cause::Unsupported, Class::Invalid);

/// The call asks for what cannot be said in the upstream's protocol.
const UNTRANSLATABLE: Failure = Failure::new(Cause::Unsupported, Class::Invalid);

/// The call cannot be taken apart to be asked elsewhere.
const NOT_REPLAYABLE: Failure = Failure::new(Cause::NotReplayable, Class::Final);

/// The finished output breaks the caller's strict schema.
const UNPARSABLE: Failure = Failure::new(Cause::InvalidAnswer, Class::Unparsable);

/// The answer is not a valid one.
const INVALID: Failure = Failure::new(Cause::InvalidAnswer, Class::Final);

/// Whether a content type is `wanted`, parameters aside.
fn is_type(content_type: Option<&[u8]>, wanted: &str) -> bool {
    let kind = content_type.and_then(|value| value.split(|byte| *byte == b';').next());
    kind.is_some_and(|kind| kind.trim_ascii().eq_ignore_ascii_case(wanted.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_prints_a_body() {
        let body = b"secret words".to_vec();
        let raw = Raw { content_type: None, body: body.clone() };
        let answer = Answer { content_type: "text/plain", body: body.clone() };
        for printed in [format!("{raw:?}"), format!("{answer:?}"), format!("{:?}", Piece::New(body))] {
            assert!(printed.contains("12") && !printed.contains("secret") && !printed.contains("115"), "{printed}");
        }
    }
}
