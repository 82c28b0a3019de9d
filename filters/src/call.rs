//! What does a request ask for? The model it names, and for models that may leave the machine: that it is one well-formed value.
//!
//! Naming is cheap and happens to every inference call. [`inspect`] reads the whole body and happens only to calls of configured
//! models: a model that is local only is validated by its engine (product section 4 items 1 to 3).

mod details;
mod work;

use crate::error_answer::ErrorAnswer;
use crate::multipart;
use crate::scan;
use crate::surrogates;
use crate::validate::{self, Body, Notes, Rules, Verdict};
use serde::de::DeserializeSeed;
use spillway_policies::Surface;
use std::borrow::Cow;
use std::ops::Range;

pub use details::{Details, Transcript};
pub use work::Work;

/// The format of a request body, by its content type (contract section 1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON, also when nothing is said.
    Json,
    /// msgpack, on native surfaces other than generate.
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
            Surface::Encode | Surface::Extract | Surface::Score
                if contains(b"application/msgpack") || contains(b"application/x-msgpack") =>
            {
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

const MALFORMED: ErrorAnswer =
    ErrorAnswer::invalid("the body must be one multipart/form-data form with its boundary in Content-Type");

fn named_in_form<'a>(content_type: &[u8], body: &'a [u8]) -> Result<Named<'a>, ErrorAnswer> {
    let boundary = multipart::boundary(content_type).ok_or(MALFORMED)?;
    let span = match multipart::field(body, boundary, b"model") {
        Ok(span) => span.ok_or(NAME_IT)?,
        Err(multipart::BadForm::Malformed) => return Err(MALFORMED),
        Err(multipart::BadForm::Repeated) => return Err(ErrorAnswer::invalid_field("model", "`model` stands twice")),
    };
    let model = std::str::from_utf8(&body[span.clone()]).map_err(|_| NAME_IT)?;
    Ok(Named { model: Cow::Borrowed(model), span })
}

/// Reads the whole body of a call whose model may be served remotely, once: its details and its first violation of `rules`.
///
/// # Errors
/// The body is not one well-formed UTF-8 JSON object (or msgpack map, or form), names a field twice, or `stream` or
/// `options.profile` has the wrong type. A violation of the field rules is no error: it stands in the details.
pub fn inspect(surface: Surface, format: Format, body: &[u8], rules: &Rules<'_>) -> Result<Details, ErrorAnswer> {
    let Some(sheet) = validate::sheet(surface, rules.dialect) else { return form(body, rules) };
    let mut notes = Notes::default();
    let read = Body { surface, format, sheet, rules, notes: &mut notes };
    let rejection = match format {
        Format::Msgpack => msgpack(body, read)?,
        Format::Json | Format::Multipart => json(body, read)?,
    };
    match notes.fatal {
        Some("stream") if surface.may_stream() => return Err(not_a_flag(surface)),
        Some("options.profile") => return Err(PROFILE),
        _ => {}
    }
    let mut details = notes.details;
    if surface == Surface::Completions {
        details.choices = details.choices.zip(details.prompts).and_then(|(each, prompts)| each.checked_mul(prompts));
    }
    details.stream &= surface.may_stream();
    details.rejection = sheet.too_large(body.len()).or(rejection);
    Ok(details)
}

/// `stream` of another type, by the code that the surface has for it (contract sections 1.4 and 1.5).
const fn not_a_flag(surface: Surface) -> ErrorAnswer {
    let mut answer = ErrorAnswer::invalid_field("stream", "`stream` must be true or false");
    answer.code = match surface {
        Surface::Completions | Surface::Responses => "invalid_request",
        Surface::Generate => "INVALID_REQUEST",
        _ => answer.code,
    };
    answer
}

const PROFILE: ErrorAnswer =
    ErrorAnswer::invalid_field("options.profile", "`options.profile` must be the name of a profile");

const NOT_ONE_OBJECT: ErrorAnswer =
    ErrorAnswer::invalid("the body must be one well-formed UTF-8 object that names no field twice");

fn json(body: &[u8], mut read: Body<'_>) -> Result<Verdict, ErrorAnswer> {
    let text = std::str::from_utf8(body).map_err(|_| NOT_ONE_OBJECT)?;
    let verdict = match json_text(text, &mut read) {
        // Callers cut texts in the middle of a character, and engines take what is left.
        // SIE reads native bodies strictly.
        Err(_) if !read.surface.is_native() => json_text(&surrogates::mended(text).ok_or(NOT_ONE_OBJECT)?, &mut read),
        read => read,
    };
    verdict.map_err(|_| NOT_ONE_OBJECT)
}

fn json_text(text: &str, read: &mut Body<'_>) -> Result<Verdict, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    // Every rule bounds its own depth; what is skipped is skipped without recursion.
    deserializer.disable_recursion_limit();
    let verdict = read.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(verdict)
}

/// How deep msgpack may nest, where what is skipped is skipped by recursion: a tree of 128 levels, and what it stands in.
const MOST_NESTING: usize = 136;

fn msgpack(body: &[u8], mut read: Body<'_>) -> Result<Verdict, ErrorAnswer> {
    let mut rest = body;
    let mut deserializer = rmp_serde::Deserializer::new(&mut rest);
    deserializer.set_max_depth(MOST_NESTING);
    let verdict = read.deserialize(&mut deserializer).map_err(|_| NOT_ONE_OBJECT)?;
    if rest.is_empty() { Ok(verdict) } else { Err(NOT_ONE_OBJECT) }
}

fn form(body: &[u8], rules: &Rules<'_>) -> Result<Details, ErrorAnswer> {
    // The content type's boundary was held against this one when the model was named.
    let boundary = multipart::own_boundary(body).ok_or(MALFORMED)?;
    validate::check_form(body, multipart::parts(body, boundary), rules).map_err(|_| MALFORMED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::Dialect;
    use proptest::prelude::*;

    fn model(body: &str) -> Result<String, Option<Cow<'static, str>>> {
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
            assert_eq!(model(bad), Err(Some("model".into())), "{bad}");
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

    const SIE: Rules<'_> = Rules { dialect: Dialect::Sie, accept: &[], dense_dim: None, max_output_tokens: None };
    const OPENAI: Rules<'_> = Rules { dialect: Dialect::Openai, ..SIE };

    fn read(surface: Surface, body: &str) -> Details {
        inspect(surface, Format::Json, body.as_bytes(), &SIE).expect("well-formed")
    }

    #[test]
    fn details_are_read_where_the_surface_has_them() {
        assert!(read(Surface::Chat, r#"{"model":"m","stream":true,"x":[1,{"y":null}]}"#).stream);
        let encode = r#"{"items":[{"text":"a"},{"text":"b"}],"params":{"options":{"profile":"remote"}}}"#;
        let encode = read(Surface::Encode, encode);
        assert_eq!(encode.profile.as_deref(), Some("remote"));
        let one = read(Surface::Embeddings, r#"{"model":"m","input":"t\u00e4xt","encoding_format":"base64"}"#);
        assert_eq!((one.input_chars, one.wants_base64), (4, true));
        let two = read(Surface::Embeddings, r#"{"model":"m","input":["ab","cde"]}"#);
        assert_eq!((two.input_chars, two.wants_base64), (5, false));
        let message = r#"{"role":"user","content":[{"type":"image_url","image_url":""}]}"#;
        let chat = read(Surface::Chat, &format!(r#"{{"model":"m","messages":[{message}],"logprobs":true}}"#));
        assert!(chat.logprobs && chat.rejection.is_none());
        assert_eq!(Details::NONE, Details::default());
    }

    #[test]
    fn what_the_engine_judges_is_no_reason_to_reject_at_once() {
        let odd = r#"{"max_tokens":-1,"max_completion_tokens":16.0,"n":"2","documents":{"a":1},"input":{"a":[1]},
            "params":[1],"options":"x","stream_options":7,"include_reasoning":"yes","top_n":[],"items":true}"#;
        let details = read(Surface::Chat, odd);
        assert_eq!((details.output_cap, details.choices), (None, None));
        assert!(details.rejection.is_some());
        assert_eq!(read(Surface::Embeddings, r#"{"model":"m","input":[1,2,3]}"#).input_chars, 0);
        assert_eq!(read(Surface::Completions, r#"{"prompt":["a","b"],"n":2}"#).choices, None);
        let plain = read(Surface::Chat, r#"{"max_tokens":16,"max_completion_tokens":8}"#);
        assert_eq!((plain.output_cap, plain.choices), (Some(8), Some(1)));
    }

    #[test]
    fn every_prompt_gets_its_own_choices() {
        for (prompt, prompts) in [
            (r#""a""#, Some(1)),
            (r#"["a"]"#, Some(1)),
            (r#"["a","b","c"]"#, Some(3)),
            ("[1,2,3]", Some(1)),
            ("[[1,2],[3],[]]", Some(3)),
            ("[]", None),
            (r#"["a",[1]]"#, None),
            (r#"[1,"a"]"#, None),
            ("null", None),
        ] {
            for (n, each) in [("", 1), (r#","n":null"#, 1), (r#","n":2"#, 2)] {
                let body = format!(r#"{{"model":"m"{n},"prompt":{prompt}}}"#);
                let read = inspect(Surface::Completions, Format::Json, body.as_bytes(), &OPENAI).expect("well-formed");
                assert_eq!((read.prompts, read.choices), (prompts, prompts.map(|prompts| prompts * each)), "{body}");
            }
        }
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
            br#"{"messages":"\ud83d"}}"#,
            br#"{"options":{"profile":"a","profile":null}}"#,
            br#"{"options":{},"options":{}}"#,
            br#"{"stream_options":{"include_usage":true,"include_usage":false}}"#,
        ] {
            let read = inspect(Surface::Chat, Format::Json, bad, &SIE);
            assert!(read.is_err(), "{}", String::from_utf8_lossy(bad));
        }
    }

    #[test]
    fn half_a_character_is_no_reason_to_reject() {
        let chat = r#"{"model":"m","messages":[{"role":"user","content":"\ud83d"}],"stream":true}"#;
        let chat = read(Surface::Chat, chat);
        assert!(chat.stream && chat.rejection.is_none());
    }

    #[test]
    fn nesting_of_any_depth_is_read() {
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        for body in [
            r#"{"model":"m","unknown":DEEP}"#,
            r#"{"model":"m","messages":DEEP}"#,
            r#"{"response_format":DEEP}"#,
            r#"{"response_format":{"json_schema":{"schema":{"a":DEEP}}}}"#,
            r#"{"options":DEEP}"#,
        ] {
            assert!(read(Surface::Chat, &body.replace("DEEP", &deep)).rejection.is_some());
        }
        let items =
            format!(r#"{{"items":[{{"metadata":{{"a":{deep}}}}}],"params":{{"output_schema":{{"a":{deep}}}}}}}"#);
        assert!(read(Surface::Extract, &items).rejection.is_some());
    }

    #[test]
    fn the_operator_accepts_what_nobody_documents() {
        let body =
            br#"{"model":"m","messages":[{"role":"user","content":"x"}],"min_p":0.1,"n":500,"include_reasoning":true}"#;
        let read = |rules: &Rules<'_>| inspect(Surface::Chat, Format::Json, body, rules).expect("well-formed");
        let param = |details: &Details| details.rejection.as_ref().and_then(|answer| answer.param.clone());
        assert_eq!(param(&read(&OPENAI)).as_deref(), Some("include_reasoning"));
        let accept = ["min_p".to_owned(), "include_reasoning".to_owned()];
        assert_eq!(param(&read(&Rules { accept: &accept, ..OPENAI })).as_deref(), Some("n"));
        let accept = ["min_p".to_owned(), "include_reasoning".to_owned(), "n".to_owned()];
        let accepted = read(&Rules { accept: &accept, ..OPENAI });
        assert!(accepted.rejection.is_none() && accepted.include_reasoning);
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
        let read = |body: &[u8]| inspect(Surface::Encode, Format::Msgpack, body, &SIE);
        let found = read(&map).expect("valid");
        assert_eq!(found.profile.as_deref(), Some("remote"));
        assert!(found.rejection.is_none());
        assert!(read(&[&map[..], &[0]].concat()).is_err());
        assert!(read(&[0x91, 1]).is_err());
        assert!(read(&map[..map.len() - 1]).is_err());
        let deep = [&[0x81, 0xa1, b'x'][..], &[0x91; 100_000], &[1]].concat();
        assert!(read(&deep).is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..96)) {
            let _ = named(Format::Json, b"", &bytes);
            for surface in Surface::ALL {
                for format in [Format::Json, Format::Msgpack, Format::Multipart] {
                    let _ = inspect(surface, format, &bytes, &SIE);
                    let _ = inspect(surface, format, &bytes, &OPENAI);
                }
            }
        }
    }
}
