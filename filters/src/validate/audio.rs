//! Which fields does a transcription form accept (contract section 1.5)?

use super::rule::UNSUPPORTED;
use super::{Dialect, MIB, Rules};
use crate::call::{Details, Transcript};
use crate::error_answer::ErrorAnswer;
use crate::multipart::{BadForm, Part, Parts};

/// One field of the form.
struct Field {
    name: &'static str,
    rule: Rule,
    mend: &'static str,
}

/// What a field's text must be.
enum Rule {
    /// Any text.
    Any,
    /// The audio itself.
    File,
    /// A text with something in it.
    Filled,
    /// May stand more than once; one of these each.
    Many(&'static [&'static str]),
    /// May stand more than once.
    ManyAny,
    /// The name of a model.
    Model,
    /// A number from 0 to 1.
    Unit,
    /// One of these.
    Word(&'static [&'static str]),
}

const fn field(name: &'static str, rule: Rule, mend: &'static str) -> Field {
    Field { name, rule, mend }
}

const FILE: Field =
    field("file", Rule::File, "`file` must be one audio file: flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav or webm");
const MODEL: Field = field("model", Rule::Model, "`model` must be the name of a model");
const LANGUAGE: Field = field("language", Rule::Filled, "`language` must be a language, or left out");
const PROMPT: Field = field("prompt", Rule::Any, "`prompt` must be a text");
const TEMPERATURE: Field = field("temperature", Rule::Unit, "`temperature` must be a number from 0 to 1");
const FLAGS: &[&str] = &["false", "true"];
const GRANULARITIES: &[&str] = &["segment", "word"];
const GRANULAR: &str =
    "`timestamp_granularities[]` must be `word` or `segment`, with the response format `verbose_json`";

const SIE: &[Field] = &[
    FILE,
    MODEL,
    LANGUAGE,
    PROMPT,
    field(
        "response_format",
        Rule::Word(&["json", "text", "srt", "verbose_json", "vtt"]),
        "`response_format` must be `json`, `text`, `srt`, `verbose_json` or `vtt`",
    ),
    field("stream", Rule::Word(FLAGS), "`stream` must be false, or left out"),
    TEMPERATURE,
    field("timestamp_granularities", Rule::Many(GRANULARITIES), GRANULAR),
    field("timestamp_granularities[]", Rule::Many(GRANULARITIES), GRANULAR),
];

const OPENAI: &[Field] = &[
    FILE,
    MODEL,
    LANGUAGE,
    PROMPT,
    field(
        "response_format",
        Rule::Word(&["json", "text", "srt", "verbose_json", "vtt", "diarized_json"]),
        "`response_format` must be `json`, `text`, `srt`, `verbose_json`, `vtt` or `diarized_json`",
    ),
    field("stream", Rule::Word(FLAGS), "`stream` must be true or false"),
    TEMPERATURE,
    field("timestamp_granularities", Rule::Many(GRANULARITIES), GRANULAR),
    field("timestamp_granularities[]", Rule::Many(GRANULARITIES), GRANULAR),
    field("chunking_strategy", Rule::Any, "`chunking_strategy` must be a text"),
    field("include[]", Rule::ManyAny, "`include[]` must be a text"),
    field("keywords[]", Rule::ManyAny, "`keywords[]` must be a text"),
    field("known_speaker_names[]", Rule::ManyAny, "`known_speaker_names[]` must be a text"),
    field("known_speaker_references[]", Rule::ManyAny, "`known_speaker_references[]` must be a text"),
    field("languages[]", Rule::ManyAny, "`languages[]` must be a text"),
];

const FORMATS: &[&str] = &["flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "ogg", "wav", "webm"];

const MOST_FILE: usize = 24 * MIB;
const MOST_FORM: usize = 25 * MIB;
const MOST_TEXT: usize = 8 * 1024;
const MOST_FIELDS: usize = 15;
const MOST_PARTS: usize = 256;

const CODE: &str = "invalid_request";

/// What is left to say when a form breaks one rule.
type Broken = Box<ErrorAnswer>;

/// What a form asks for, and its first violation.
///
/// # Errors
/// The form is not well-formed.
pub(crate) fn check(body: &[u8], parts: Parts<'_>, rules: &Rules<'_>) -> Result<Details, BadForm> {
    // One more than are taken tells that there are too many.
    let parts = parts.take(MOST_PARTS + 1).collect::<Result<Vec<_>, _>>()?;
    let form = Form { body, parts: &parts, rules, fields: if rules.dialect == Dialect::Sie { SIE } else { OPENAI } };
    Ok(Details { transcript: form.transcript(), rejection: form.check().err(), ..Details::NONE })
}

struct Form<'f> {
    body: &'f [u8],
    parts: &'f [Part<'f>],
    rules: &'f Rules<'f>,
    fields: &'static [Field],
}

impl Form<'_> {
    fn check(&self) -> Result<(), Broken> {
        self.counts()?;
        let mut seen = vec![false; self.fields.len()];
        for part in self.parts {
            let name = part.name.unwrap_or_default();
            if self.is_accepted(name) {
                continue;
            }
            let at = self.fields.iter().position(|field| field.name.as_bytes() == name).ok_or_else(|| unknown(name))?;
            let field = &self.fields[at];
            let many = matches!(field.rule, Rule::Many(_) | Rule::ManyAny);
            if (seen[at] && !many) || matches!(field.rule, Rule::File) != part.filename.is_some() {
                return Err(broken(CODE, field));
            }
            seen[at] = true;
        }
        for field in self.fields.iter().filter(|field| !self.is_accepted(field.name.as_bytes())) {
            self.field(field)?;
        }
        Ok(())
    }

    fn is_accepted(&self, name: &[u8]) -> bool {
        self.rules.accept.iter().any(|accepted| accepted.as_bytes() == name)
    }

    /// The form is bounded before its fields are looked at.
    fn counts(&self) -> Result<(), Broken> {
        let (files, texts): (Vec<_>, Vec<_>) = self.parts.iter().partition(|part| part.filename.is_some());
        let many = |message| Box::new(ErrorAnswer::rejected(400, CODE, message, None));
        if self.parts.len() > MOST_PARTS {
            return Err(many("a form may have at most 256 fields"));
        }
        if self.rules.dialect != Dialect::Sie {
            return Ok(());
        }
        let large = |message| Box::new(ErrorAnswer::rejected(413, "payload_too_large", message, None));
        if self.body.len() > MOST_FORM {
            return Err(large("a form may hold at most 25 MiB: split or compress its file"));
        }
        if texts.iter().any(|part| part.value.len() > MOST_TEXT) {
            return Err(large("a text field may hold at most 8 KiB: shorten it"));
        }
        if files.len() > 1 {
            return Err(many("send one file in each call"));
        }
        if texts.len() > MOST_FIELDS {
            return Err(many("a form may have at most 15 text fields"));
        }
        Ok(())
    }

    fn values<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s [u8]> {
        let named = |part: &&Part<'_>| part.name == Some(name.as_bytes());
        self.parts.iter().filter(named).map(|part| &self.body[part.value.clone()])
    }

    fn field(&self, field: &Field) -> Result<(), Broken> {
        let first = self.values(field.name).next();
        let fits = match (&field.rule, first) {
            (Rule::File, _) => return self.file(field),
            (Rule::Model, value) => value.is_some_and(|name| self.names_a_model(name)),
            (_, None) => true,
            (Rule::Any | Rule::ManyAny, Some(text)) => std::str::from_utf8(text).is_ok(),
            (Rule::Filled, Some(text)) => std::str::from_utf8(text).is_ok_and(|text| !text.trim().is_empty()),
            (Rule::Many(words), Some(_)) => {
                self.values(field.name).all(|value| is_word(words, value))
                    && self.is(b"response_format", b"verbose_json")
            }
            (Rule::Unit, Some(text)) => std::str::from_utf8(text)
                .is_ok_and(|text| text.trim().parse::<f64>().is_ok_and(|number| (0.0..=1.0).contains(&number))),
            (Rule::Word(words), Some(word)) => {
                if field.name == "stream" && word == b"true" && self.rules.dialect == Dialect::Sie
                    || word == b"diarized_json" && !is_word(words, word)
                {
                    return Err(broken(UNSUPPORTED, field));
                }
                is_word(words, word)
            }
        };
        if fits { Ok(()) } else { Err(broken(CODE, field)) }
    }

    /// How the transcript is written; an operator may accept what nobody here reads.
    fn transcript(&self) -> Option<Transcript> {
        if self.values("stream").any(|word| word != b"false") {
            return None;
        }
        let mut formats = self.values("response_format");
        match (formats.next(), formats.next()) {
            (None | Some(b"json" | b"verbose_json"), None) => Some(Transcript::Json),
            (Some(b"srt"), None) => Some(Transcript::Srt),
            (Some(b"text"), None) => Some(Transcript::Text),
            (Some(b"vtt"), None) => Some(Transcript::Vtt),
            _ => None,
        }
    }

    fn file(&self, field: &Field) -> Result<(), Broken> {
        let part = self.parts.iter().find(|part| part.name == Some(field.name.as_bytes()));
        let format = part.and_then(|part| extension(part.filename?));
        let Some((part, _)) = part.zip(format.filter(|format| FORMATS.contains(&format.as_str()))) else {
            return Err(broken(CODE, field));
        };
        if part.value.is_empty() {
            return Err(broken(CODE, field));
        }
        if part.value.len() > MOST_FILE && self.rules.dialect == Dialect::Sie {
            let message = "`file` may hold at most 24 MiB: split or compress it";
            return Err(Box::new(ErrorAnswer::rejected(413, "payload_too_large", message, Some(field.name))));
        }
        Ok(())
    }

    /// SIE's names go into a path.
    fn names_a_model(&self, name: &[u8]) -> bool {
        let Ok(name) = std::str::from_utf8(name) else { return false };
        let name = name.trim();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._/-".contains(&byte);
        !name.is_empty()
            && (self.rules.dialect == Dialect::Openai
                || (name.bytes().all(plain) && !name.contains("..") && name.as_bytes()[0].is_ascii_alphanumeric()))
    }

    fn is(&self, name: &[u8], value: &[u8]) -> bool {
        let part = self.parts.iter().find(|part| part.name == Some(name));
        part.is_some_and(|part| &self.body[part.value.clone()] == value)
    }
}

fn is_word(words: &[&str], value: &[u8]) -> bool {
    words.iter().any(|word| word.as_bytes() == value)
}

/// The lower-case extension of a file name; a name of dots and an extension alone has none.
fn extension(filename: &[u8]) -> Option<String> {
    let name = filename.rsplit(|byte| *byte == b'/').next()?;
    let (stem, extension) = std::str::from_utf8(name).ok()?.rsplit_once('.')?;
    (!stem.trim_start_matches('.').is_empty()).then(|| extension.to_ascii_lowercase())
}

fn broken(code: &'static str, field: &Field) -> Broken {
    let name = field.name.strip_suffix("[]").unwrap_or(field.name);
    Box::new(ErrorAnswer::rejected(400, code, field.mend, Some(name)))
}

fn unknown(name: &[u8]) -> Broken {
    let message = "this field is not accepted here: leave it out";
    Box::new(ErrorAnswer::rejected(400, UNSUPPORTED, message, Some(&String::from_utf8_lossy(name))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::multipart;

    const RULES: Rules<'_> = Rules { dialect: Dialect::Sie, accept: &[], dense_dim: None, max_output_tokens: None };

    fn text(name: &str, value: &str) -> String {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    }

    fn file(filename: &str) -> String {
        format!("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{filename}\"\r\n\r\nRIFF\r\n")
    }

    fn verdict(rules: &Rules<'_>, parts: &[String]) -> Option<(&'static str, String)> {
        let form = [parts.concat(), "--b--\r\n".into()].concat();
        let verdict = check(form.as_bytes(), multipart::parts(form.as_bytes(), b"b"), rules).expect("well-formed");
        verdict.rejection.map(|answer| (answer.code, answer.param.unwrap_or_default().into_owned()))
    }

    #[test]
    fn the_fields_of_a_form_are_checked() {
        let model = text("model", "org/w");
        let check = |extra: &[String]| verdict(&RULES, &[&[file("a.WAV"), model.clone()], extra].concat());
        assert_eq!(check(&[]), None);
        assert_eq!(check(&[text("response_format", "verbose_json"), text("timestamp_granularities[]", "word")]), None);
        for (extra, code, param) in [
            (text("extra", "1"), UNSUPPORTED, "extra"),
            (text("stream", "true"), UNSUPPORTED, "stream"),
            (text("stream", "yes"), CODE, "stream"),
            (text("response_format", "diarized_json"), UNSUPPORTED, "response_format"),
            (text("response_format", "xml"), CODE, "response_format"),
            (text("temperature", "1.5"), CODE, "temperature"),
            (text("temperature", "nan"), CODE, "temperature"),
            (text("language", " "), CODE, "language"),
            (text("timestamp_granularities[]", "word"), CODE, "timestamp_granularities"),
            (model.clone(), CODE, "model"),
            (file("b.wav"), CODE, ""),
            (text("prompt", &"x".repeat(MOST_TEXT + 1)), "payload_too_large", ""),
        ] {
            assert_eq!(check(&[extra]), Some((code, param.into())), "{param}");
        }
        assert_eq!(verdict(&RULES, &[model.clone(), file("a.aiff")]), Some((CODE, "file".into())));
        assert_eq!(verdict(&RULES, &[model.clone(), file(".wav")]), Some((CODE, "file".into())));
        assert_eq!(verdict(&RULES, &[model, text("file", "x")]), Some((CODE, "file".into())));
    }

    #[test]
    fn the_form_of_the_transcript_is_noted() {
        let noted = |extra: &[(&str, &str)]| {
            let extra = extra.iter().map(|(name, value)| text(name, value)).collect::<String>();
            let form = [file("a.wav"), text("model", "w"), extra, "--b--".into()].concat();
            let rules = Rules { dialect: Dialect::Openai, accept: &["response_format".to_owned()], ..RULES };
            check(form.as_bytes(), multipart::parts(form.as_bytes(), b"b"), &rules).expect("well-formed").transcript
        };
        assert_eq!(noted(&[]), Some(Transcript::Json));
        for (word, wanted) in [
            ("json", Some(Transcript::Json)),
            ("verbose_json", Some(Transcript::Json)),
            ("text", Some(Transcript::Text)),
            ("srt", Some(Transcript::Srt)),
            ("vtt", Some(Transcript::Vtt)),
            ("diarized_json", None),
            ("xml", None),
        ] {
            assert_eq!(noted(&[("response_format", word), ("stream", "false")]), wanted, "{word}");
        }
        assert_eq!(noted(&[("stream", "true")]), None);
        assert_eq!(noted(&[("response_format", "json"), ("response_format", "text")]), None);
    }

    #[test]
    fn other_engines_take_what_openai_documents_and_the_operator_accepts() {
        let accept = ["vad_filter".to_owned()];
        let rules = Rules { dialect: Dialect::Openai, accept: &accept, ..RULES };
        let form = [file("a.mp3"), text("model", "whisper:1"), text("stream", "true"), text("vad_filter", "?")];
        assert_eq!(verdict(&rules, &form), None);
        let form = [file("a.mp3"), text("model", "w"), text("beam_size", "5")];
        assert_eq!(verdict(&rules, &form), Some((UNSUPPORTED, "beam_size".into())));
    }
}
