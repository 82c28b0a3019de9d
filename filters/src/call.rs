//! What does a request ask for? The model it names, and for models that may leave the machine: that it is one well-formed value.
//!
//! Naming is cheap and happens to every inference call. [`inspect`] reads the whole body and happens only to calls of configured
//! models: a model that is local only is validated by its engine (product section 4 items 1 to 3).

mod hint;

use crate::error_answer::ErrorAnswer;
use crate::multipart;
use crate::scan;
use serde::Deserialize;
use spillway_policies::Surface;
use std::borrow::Cow;
use std::ops::Range;

/// The format of a request body, by its content type (contract section 1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON, also when nothing is said.
    Json,
    /// msgpack, on native surfaces.
    Msgpack,
    /// A multipart form, on the audio surface.
    Multipart,
}

impl Format {
    /// The format that a surface reads a body of this content type as.
    #[must_use]
    pub fn of(surface: Surface, content_type: &[u8]) -> Self {
        let contains = |needle: &[u8]| memchr::memmem::find(&content_type.to_ascii_lowercase(), needle).is_some();
        match surface {
            Surface::Audio => Self::Multipart,
            _ if surface.is_native() && (contains(b"application/msgpack") || contains(b"application/x-msgpack")) => {
                Self::Msgpack
            }
            _ => Self::Json,
        }
    }
}

/// The model a body names, and where its value stands, so that it can be replaced without a copy of the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named<'a> {
    /// The name.
    pub model: Cow<'a, str>,
    /// The value in the body; for JSON with its quotes.
    pub span: Range<usize>,
}

const NAME_IT: ErrorAnswer = ErrorAnswer::invalid_field("model", "say which model: `model` must be a non-empty string");

/// The model that the body of a non-native surface names.
///
/// # Errors
/// The body is no JSON object or form, or `model` is missing, empty, not a string, or stands twice.
pub fn named<'a>(format: Format, content_type: &[u8], body: &'a [u8]) -> Result<Named<'a>, ErrorAnswer> {
    let named = match format {
        Format::Multipart => named_in_form(content_type, body)?,
        Format::Json | Format::Msgpack => named_in_object(body)?,
    };
    if named.model.is_empty() { Err(NAME_IT) } else { Ok(named) }
}

fn named_in_object(body: &[u8]) -> Result<Named<'_>, ErrorAnswer> {
    let mut found = None;
    for member in scan::members(body) {
        let member = member.map_err(|_| ErrorAnswer::invalid("the body must be one JSON object"))?;
        if scan::is_key(&body[member.key], "model") {
            if found.is_some() {
                return Err(ErrorAnswer::invalid_field("model", "`model` stands twice"));
            }
            found = Some(member.value);
        }
    }
    let span = found.ok_or(NAME_IT)?;
    let model = scan::text(&body[span.clone()]).ok_or(NAME_IT)?;
    Ok(Named { model, span })
}

/// The model that the first bytes of an object name, when they do: for bodies that are too large to hold.
#[must_use]
pub fn named_early(first: &[u8]) -> Option<Cow<'_, str>> {
    let named = |member: &scan::Member| scan::is_key(&first[member.key.clone()], "model");
    let member = scan::members(first).map_while(Result::ok).find(named)?;
    scan::text(&first[member.value])
}

fn named_in_form<'a>(content_type: &[u8], body: &'a [u8]) -> Result<Named<'a>, ErrorAnswer> {
    let malformed =
        ErrorAnswer::invalid("the body must be one multipart/form-data form with its boundary in Content-Type");
    let boundary = multipart::boundary(content_type).ok_or_else(|| malformed.clone())?;
    let span = match multipart::field(body, boundary, b"model") {
        Ok(span) => span.ok_or(NAME_IT)?,
        Err(multipart::BadForm::Malformed) => return Err(malformed),
        Err(multipart::BadForm::Repeated) => return Err(ErrorAnswer::invalid_field("model", "`model` stands twice")),
    };
    let model = std::str::from_utf8(&body[span.clone()]).map_err(|_| NAME_IT)?;
    Ok(Named { model: Cow::Borrowed(model), span })
}

/// What a whole read of the body adds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// The caller asked for an event stream.
    pub stream: bool,
    /// A string `options.profile`: the profile is served as named, and no policy applies.
    pub profile: Option<String>,
    /// Chat: the caller wants private reasoning.
    pub include_reasoning: bool,
    /// The caller wants usage at the end of its stream.
    pub include_usage: bool,
    /// How many inputs the call has, where an answer must have as many results.
    pub inputs: Option<usize>,
    /// Chat and completions: how many choices the caller wants.
    pub choices: Option<usize>,
    /// Generation: the caller's own cap on tokens of one answer.
    pub output_cap: Option<u64>,
    /// Rerank: the most results the caller wants.
    pub top_n: Option<usize>,
}

impl Details {
    /// What is known of a call whose body nobody had to read.
    pub const NONE: Self = Self {
        stream: false,
        profile: None,
        include_reasoning: false,
        include_usage: false,
        inputs: None,
        choices: None,
        output_cap: None,
        top_n: None,
    };
}

/// Reads the whole body of a call whose model may be served remotely.
///
/// # Errors
/// The body is not one well-formed UTF-8 JSON object (or msgpack map), or `stream` or `profile` has the wrong type.
pub fn inspect(surface: Surface, format: Format, body: &[u8]) -> Result<Details, ErrorAnswer> {
    let probe: Probe = match format {
        // The form's fields were found when the model was named; its parts are opaque.
        Format::Multipart => return Ok(Details::default()),
        Format::Json => json(body)?,
        Format::Msgpack => msgpack(body)?,
    };
    let options = match surface {
        Surface::Encode | Surface::Extract => probe.params.options,
        _ => probe.options,
    };
    let inputs = match surface {
        Surface::Embeddings => probe.input,
        Surface::Rerank => probe.documents,
        _ => probe.items,
    };
    // A list of prompts gives as many answers for each; how many is not worth knowing here.
    let one_prompt = !matches!(probe.prompt, Some(Count(Some(2..))));
    let choices = matches!(surface, Surface::Chat | Surface::Completions) && one_prompt;
    let caps = [probe.max_tokens, probe.max_completion_tokens, probe.max_new_tokens, probe.max_output_tokens];
    Ok(Details {
        stream: probe.stream.unwrap_or(false) && surface.may_stream(),
        profile: options.profile,
        include_reasoning: probe.include_reasoning == Some(Hint::Flag(true)),
        include_usage: probe.stream_options.include_usage,
        inputs: inputs.and_then(|Count(count)| count),
        choices: choices.then(|| probe.n.map_or(Some(1), Hint::count)).flatten(),
        output_cap: caps.into_iter().flatten().filter_map(Hint::number).min(),
        top_n: probe.top_n.and_then(Hint::count),
    })
}

const NOT_ONE_OBJECT: ErrorAnswer = ErrorAnswer::invalid(
    "the body must be one well-formed UTF-8 object, with `stream` true or false and `options.profile` a string",
);

fn json(body: &[u8]) -> Result<Probe, ErrorAnswer> {
    let text = std::str::from_utf8(body).map_err(|_| NOT_ONE_OBJECT)?;
    // A struct would also be read from an array, by position.
    if !text.trim_start_matches([' ', '\t', '\r', '\n']).starts_with('{') {
        return Err(NOT_ONE_OBJECT);
    }
    serde_json::from_str(text).map_err(|_| NOT_ONE_OBJECT)
}

fn msgpack(body: &[u8]) -> Result<Probe, ErrorAnswer> {
    if !matches!(body.first(), Some(0x80..=0x8f | 0xde | 0xdf)) {
        return Err(NOT_ONE_OBJECT);
    }
    let mut rest = body;
    let probe = Probe::deserialize(&mut rmp_serde::Deserializer::new(&mut rest)).map_err(|_| NOT_ONE_OBJECT)?;
    if rest.is_empty() { Ok(probe) } else { Err(NOT_ONE_OBJECT) }
}

#[derive(Deserialize)]
struct Probe {
    stream: Option<bool>,
    #[serde(default)]
    options: Options,
    #[serde(default)]
    params: Params,
    #[serde(default)]
    stream_options: StreamOptions,
    include_reasoning: Option<Hint>,
    items: Option<Count>,
    input: Option<Count>,
    documents: Option<Count>,
    prompt: Option<Count>,
    n: Option<Hint>,
    max_tokens: Option<Hint>,
    max_completion_tokens: Option<Hint>,
    max_new_tokens: Option<Hint>,
    max_output_tokens: Option<Hint>,
    top_n: Option<Hint>,
}

/// A value that is only a hint for later: whatever it is, the engine is the one who judges it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hint {
    Flag(bool),
    Number(u64),
    Other,
}

impl Hint {
    const fn number(self) -> Option<u64> {
        if let Self::Number(number) = self { Some(number) } else { None }
    }

    fn count(self) -> Option<usize> {
        self.number().and_then(|number| usize::try_from(number).ok())
    }
}

/// The length of an array, one for a single text or one array of token ids; the elements are skipped.
struct Count(Option<usize>);

/// `options`, as far as it is an object: its `profile` is a string or the call is not valid.
#[derive(Default)]
struct Options {
    profile: Option<String>,
}

/// `params`, as far as it is an object.
#[derive(Default)]
struct Params {
    options: Options,
}

/// `stream_options`, as far as it is an object.
#[derive(Default)]
struct StreamOptions {
    include_usage: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn model(body: &str) -> Result<String, Option<&'static str>> {
        named(Format::Json, b"", body.as_bytes()).map(|named| named.model.into_owned()).map_err(|answer| answer.param)
    }

    #[test]
    fn a_call_names_one_model() {
        assert_eq!(model(r#"{"messages":[{"model":"x"}],"model":"org/chat"}"#), Ok("org/chat".into()));
        assert_eq!(model(r#"{"mod\u0065l":"a\u002fb"}"#), Ok("a/b".into()));
        for bad in [
            r#"{"model":""}"#,
            r#"{"model":5}"#,
            r#"{"model":null}"#,
            r#"{"model":["a"]}"#,
            "{}",
            r#"{"model":"a","model":"b"}"#,
            r#"{"model":"a","mod\u0065l":"b"}"#,
        ] {
            assert_eq!(model(bad), Err(Some("model")), "{bad}");
        }
        for bad in ["", "[]", "null", r#"{"model":"a""#, r#"{"model":"a"}}"#] {
            assert_eq!(model(bad), Err(None), "{bad}");
        }
    }

    #[test]
    fn a_form_names_its_model() {
        let form = b"--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\norg/w\r\n--b--\r\n";
        let found = named(Format::Multipart, b"multipart/form-data; boundary=b", form).expect("a model");
        assert_eq!(found.model, "org/w");
        assert!(named(Format::Multipart, b"multipart/form-data", form).is_err());
    }

    #[test]
    fn details_are_read_where_the_surface_has_them() {
        let chat =
            inspect(Surface::Chat, Format::Json, br#"{"model":"m","stream":true,"x":[1,{"y":null}]}"#).expect("valid");
        assert!(chat.stream);
        let encode = br#"{"items":[{"text":"a"},{"text":"b"}],"params":{"options":{"profile":"remote"}}}"#;
        let encode = inspect(Surface::Encode, Format::Json, encode).expect("valid");
        assert_eq!((encode.profile.as_deref(), encode.inputs), (Some("remote"), Some(2)));
        let one = inspect(Surface::Embeddings, Format::Json, br#"{"model":"m","input":"text"}"#).expect("valid");
        assert_eq!(one.inputs, Some(1));
    }

    #[test]
    fn what_the_engine_judges_is_no_reason_to_reject() {
        let odd = br#"{"max_tokens":-1,"max_completion_tokens":16.0,"n":"2","documents":{"a":1},"input":{"a":[1]},
            "params":[1],"options":"x","stream_options":7,"include_reasoning":"yes","top_n":[],"items":true}"#;
        let details = inspect(Surface::Chat, Format::Json, odd).expect("valid");
        assert_eq!((details.output_cap, details.choices, details.inputs), (None, None, None));
        let tokens = inspect(Surface::Embeddings, Format::Json, br#"{"input":[1,2,3]}"#).expect("valid");
        assert_eq!(tokens.inputs, Some(1));
        let prompts = inspect(Surface::Completions, Format::Json, br#"{"prompt":["a","b"],"n":2}"#).expect("valid");
        assert_eq!(prompts.choices, None);
        let plain =
            inspect(Surface::Chat, Format::Json, br#"{"max_tokens":16,"max_completion_tokens":8}"#).expect("valid");
        assert_eq!((plain.output_cap, plain.choices), (Some(8), Some(1)));
    }

    #[test]
    fn wrong_types_and_broken_values_are_rejected() {
        for bad in [
            &br#"{"stream":"yes"}"#[..],
            br#"{"options":{"profile":5}}"#,
            br#"[true]"#,
            br#"{"a":[}"#,
            b"{\"a\":\"\xff\"}",
            br#"{} {}"#,
            br#"{"stream":true,"stream":false}"#,
        ] {
            assert!(inspect(Surface::Chat, Format::Json, bad).is_err(), "{}", String::from_utf8_lossy(bad));
        }
    }

    #[test]
    fn msgpack_is_one_map_and_nothing_behind_it() {
        let map = [
            &[0x82][..],
            &[0xa5],
            b"items",
            &[0x92, 0x80, 0x80],
            &[0xa6],
            b"params",
            &[0x81, 0xa7],
            b"options",
            &[0x81, 0xa7],
            b"profile",
            &[0xa6],
            b"remote",
        ]
        .concat();
        let found = inspect(Surface::Encode, Format::Msgpack, &map).expect("valid");
        assert_eq!((found.profile.as_deref(), found.inputs), (Some("remote"), Some(2)));
        let trailing = [&map[..], &[0]].concat();
        assert!(inspect(Surface::Encode, Format::Msgpack, &trailing).is_err());
        assert!(inspect(Surface::Encode, Format::Msgpack, &[0x91, 1]).is_err());
        assert!(inspect(Surface::Encode, Format::Msgpack, &map[..map.len() - 1]).is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..96)) {
            let _ = named(Format::Json, b"", &bytes);
            let _ = inspect(Surface::Chat, Format::Json, &bytes);
            let _ = inspect(Surface::Encode, Format::Msgpack, &bytes);
        }
    }
}
