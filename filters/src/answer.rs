//! Is this whole answer of an upstream valid, and what does the caller see of it?
//!
//! An upstream is not trusted: its answer is checked for the surface's shape, then dressed as the caller's own (contract section 5).
//! The arrays of a native answer stay the bytes they were.

pub(crate) mod array;
mod chat;
mod choices;
mod cursor;
mod dtype;
pub(crate) mod embeddings;
mod encode;
mod extract;
mod fields;
pub(crate) mod finish;
mod float;
mod indexes;
mod list;
mod logprobs;
pub(crate) mod members;
pub(crate) mod msgpack;
mod native;
mod numbers;
mod numeral;
pub(crate) mod rerank;
mod responses;
mod score;
mod transcription;
mod usage;
pub(crate) mod vector;

use choices::Kind;
pub(crate) use choices::MAX_CHOICES;
pub use dtype::OutputDtype;
pub(crate) use fields::Fields;
pub(crate) use list::{Bounded, values};
pub(crate) use members::Members;
pub(crate) use usage::{Generated, Tokens};

use crate::names;
use crate::shape::Shown;
use crate::upstream_status::in_band;
use crate::upstream_status::loose::Loose;
use spillway_policies::{Cause, Class, Failure, Surface};
use std::borrow::Cow;

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// JSON.
    Json,
    /// msgpack, on native surfaces other than generate.
    Msgpack,
    /// Plain text or subtitles, on the audio surface.
    Text,
}

impl Content {
    /// Its content type.
    pub(crate) const fn mime(self) -> &'static str {
        match self {
            Self::Json => names::JSON,
            Self::Msgpack => names::MSGPACK,
            Self::Text => "text/plain; charset=utf-8",
        }
    }

    /// Nothing, as a value.
    pub(crate) const fn null(self) -> &'static [u8] {
        match self {
            Self::Msgpack => &[0xc0],
            Self::Json | Self::Text => b"null",
        }
    }
}

/// Which outputs an encode call asked for, as far as that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    /// One vector.
    pub dense: bool,
    /// Indexes with values.
    pub sparse: bool,
    /// One vector for each token.
    pub multivector: bool,
}

/// What the answer must fit, and how it is dressed.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// How it is dressed.
    pub shown: Shown,
    /// How many items, inputs or documents were sent, when that is known.
    pub items: Option<usize>,
    /// The caller's ids of the items in their order, as raw values in the answer's format; none for an item without one. Empty when
    /// the items went as they were sent.
    pub ids: Vec<Option<Vec<u8>>>,
    /// How many choices a chat or completions call asked for, when that is known.
    pub choices: Option<usize>,
    /// The declared width of dense vectors.
    pub dim: Option<u32>,
    /// The declared bound of sparse indexes.
    pub sparse_dim: Option<u32>,
    /// The declared width of each vector of a multivector.
    pub multivector_dim: Option<u32>,
    /// The declared context length: prompt and one answer together, in tokens.
    pub context: Option<u32>,
    /// Most tokens of one choice: the caller's cap and the model's, the lower one.
    pub output_cap: Option<u64>,
    /// How many results a rerank call asked for, when it said so.
    pub top_n: Option<usize>,
    /// What every item of an encode call must come with.
    pub outputs: Outputs,
    /// How an encode call wants its numbers.
    pub output_dtype: OutputDtype,
    /// The call declares no tools, so an answer that calls one is none.
    pub no_tools: bool,
    /// The caller asked for log-probabilities.
    pub logprobs: bool,
    /// The caller reads embeddings in base64.
    pub wants_base64: bool,
    /// Characters of all embedding inputs together, for the estimate that stands in for missing usage.
    pub input_chars: u64,
}

/// Checks a whole 2xx answer of an upstream that speaks the caller's protocol, and gives what the caller sees. Those of embeddings and
/// rerank have readers of their own.
///
/// # Errors
/// The answer is not a valid one for `surface` ([`Cause::InvalidAnswer`], final), or it is an error under a success status, which is
/// classified as it states.
pub fn check<'a>(
    surface: Surface,
    content: Content,
    body: &'a [u8],
    expected: &Expected,
) -> Result<Cow<'a, [u8]>, Failure> {
    if content == Content::Text && surface == Surface::Audio {
        std::str::from_utf8(body).map_err(|_| INVALID)?;
        // Some hosts state an error in JSON whatever was asked for.
        let stated = Members::read(Content::Json, body).and_then(|members| stated_failure(&members));
        return stated.map_or(Ok(Cow::Borrowed(body)), Err);
    }
    let takes_msgpack = matches!(surface, Surface::Encode | Surface::Extract | Surface::Score);
    if content == Content::Msgpack && !takes_msgpack {
        return Err(INVALID);
    }
    let members = Members::read(content, body).ok_or(INVALID)?;
    if let Some(failure) = stated_failure(&members) {
        return Err(failure);
    }
    shown(surface, &members, expected).map(Cow::Owned).ok_or(INVALID)
}

/// The failure of every answer that is not a valid one.
const INVALID: Failure = Failure::new(Cause::InvalidAnswer, Class::Final);

/// The failure of an error under a success status: `error` of any kind but null, or a flat `object: error`.
fn stated_failure(members: &Members<'_>) -> Option<Failure> {
    let read = |name| members.read_member::<Loose<'_>>(name);
    let error = read("error");
    if error.is_none() && members.raw("error").is_some() {
        return Some(INVALID);
    }
    in_band::stated(error.as_ref(), read("object").as_ref(), read("code").as_ref())
}

/// What the caller sees of an answer; none when it is not a valid one.
fn shown(surface: Surface, members: &Members<'_>, expected: &Expected) -> Option<Vec<u8>> {
    match surface {
        Surface::Audio => transcription::shown(members),
        Surface::Chat => chat::shown(members, Kind::Message, expected),
        Surface::Completions => chat::shown(members, Kind::Text, expected),
        Surface::Embeddings | Surface::Rerank => None,
        Surface::Encode => encode::shown(members, expected),
        Surface::Extract => extract::shown(members, expected),
        Surface::Generate => native::generated(members, expected),
        Surface::Responses => responses::shown(members, expected),
        Surface::Score => score::shown(members, expected),
    }
}
