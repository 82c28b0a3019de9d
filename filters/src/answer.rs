//! Is this whole answer of an upstream valid, and what does the caller see of it?
//!
//! An upstream is not trusted: its answer is checked for the surface's shape, then dressed as the caller's own (contract section 5).
//! Vectors and scores stay the bytes they were.

pub(crate) mod array;
mod choices;
mod embeddings;
mod fields;
mod finish;
mod indexes;
mod list;
pub(crate) mod members;
pub(crate) mod msgpack;
mod native;
mod numbers;
mod rerank;
mod responses;
mod transcription;
mod usage;

pub(crate) use choices::{Kind, MAX_CHOICES, shaped};
pub(crate) use fields::Fields;
pub(crate) use finish::{is_chat, is_completion, is_generated};
pub(crate) use members::{Members, json_text};
pub(crate) use usage::Generated;

use crate::shape::Shown;
use crate::upstream_status::in_band;
use crate::upstream_status::loose::{Loose, Text};
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
    /// The caller asked for log-probabilities.
    pub logprobs: bool,
    /// The caller reads embeddings in base64.
    pub wants_base64: bool,
    /// Characters of all embedding inputs together, for the estimate that stands in for missing usage.
    pub input_chars: u64,
}

/// Checks a whole 2xx answer of an upstream that speaks the caller's protocol, and gives what the caller sees.
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
        return std::str::from_utf8(body).map(|_| Cow::Borrowed(body)).map_err(|_| INVALID);
    }
    let takes_msgpack = matches!(surface, Surface::Encode | Surface::Extract | Surface::Score);
    if content == Content::Msgpack && !takes_msgpack {
        return Err(INVALID);
    }
    let members = Members::read(content, body).ok_or(INVALID)?;
    if let Some(failure) = stated_failure(&members) {
        return Err(failure);
    }
    validate(surface, &members, expected).ok_or(INVALID)?;
    match surface {
        Surface::Audio => Ok(Cow::Borrowed(body)),
        _ => dressed(surface, content, members, &expected.shown).map(Cow::Owned).ok_or(INVALID),
    }
}

/// The failure of every answer that is not a valid one.
const INVALID: Failure = Failure::new(Cause::InvalidAnswer, Class::Final);

/// The failure of an error under a success status: `error` of any kind but null, or a flat `object: error`.
fn stated_failure(members: &Members<'_>) -> Option<Failure> {
    if members.raw("error").is_some() {
        match members.read_member::<Loose<'_>>("error") {
            Some(Loose::Null) => {}
            Some(error) => return Some(in_band::failure(Cause::InvalidAnswer, &error)),
            None => return Some(INVALID),
        }
    }
    let is_error = members.read_member::<Text<'_>>("object").is_some_and(|object| object.0 == "error");
    is_error.then(|| in_band::coded(Cause::InvalidAnswer, members.read_member::<Loose<'_>>("code").as_ref(), None))
}

fn validate(surface: Surface, members: &Members<'_>, expected: &Expected) -> Option<()> {
    match surface {
        Surface::Audio => transcription::transcription(members),
        Surface::Chat => generation(members, Kind::Message, expected),
        Surface::Completions => generation(members, Kind::Text, expected),
        Surface::Embeddings => embeddings::embeddings(members, expected),
        Surface::Encode | Surface::Extract => native::items(members, expected),
        Surface::Generate => native::generated(members, expected),
        Surface::Rerank => rerank::rerank(members, expected),
        Surface::Responses => responses::responses(members),
        Surface::Score => native::scores(members, expected),
    }
}

/// Chat and completions: whole choices, as many as were asked for, and exact usage.
fn generation(members: &Members<'_>, kind: Kind, expected: &Expected) -> Option<()> {
    let count = choices::are_whole(members.raw("choices")?, kind)?;
    expected.choices.is_none_or(|choices| choices == count).then_some(())?;
    let Fields(usage): Fields<Generated> = members.read_member("usage")?;
    (usage.is_sound() && usage.is_within(expected, count)).then_some(())
}

fn dressed(surface: Surface, content: Content, mut members: Members<'_>, shown: &Shown) -> Option<Vec<u8>> {
    match surface {
        Surface::Chat => return dressed_choices(&members, Kind::Message, "chat.completion", shown),
        Surface::Completions => return dressed_choices(&members, Kind::Text, "text_completion", shown),
        Surface::Responses => members.set_text("id", &shown.id),
        Surface::Extract => native::hide_error_texts(content, &mut members)?,
        Surface::Embeddings => embeddings::put_in_order(&mut members)?,
        Surface::Audio | Surface::Encode | Surface::Generate | Surface::Rerank | Surface::Score => {}
    }
    members.set_text("model", &shown.model);
    Some(members.to_bytes())
}

fn dressed_choices(members: &Members<'_>, kind: Kind, object: &str, shown: &Shown) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    shown.open(object, &mut out);
    out.extend_from_slice(b",\"choices\":");
    out.extend_from_slice(&shaped(members.raw("choices")?, kind, shown.include_reasoning)?);
    if let Some(Fields(usage)) = members.read_member::<Fields<Generated>>("usage") {
        out.extend_from_slice(b",\"usage\":");
        out.extend_from_slice(&usage.to_json());
    }
    out.push(b'}');
    Some(out)
}
