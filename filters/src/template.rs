//! How do messages become the prompt of an onboarded model? By its chat template, executed as Hugging Face templates expect it.
//!
//! The template is the operator's file and is trusted to be meant well; the messages are the caller's and are not. A render is bounded
//! in steps and in output, reads nothing but what it is given, and no error repeats a word of template or messages.

mod arguments;
mod date;
mod environment;
mod file;
mod generation;
mod json;
mod methods;

use crate::tree;
use minijinja::value::{ValueKind, merge_maps};
use minijinja::{Environment, ErrorKind, Value, context};
use std::error::Error;
use std::io::{self, Write};

/// The largest file that is read as a template.
pub const LONGEST_FILE: usize = 32 << 20;

/// The longest prompt, as SIE has it (contract section 1.1).
pub const LONGEST_PROMPT: usize = 4 << 20;

/// What can be asked of a template: the caller's messages and what it may say beside them, as raw JSON.
#[derive(Clone, Copy)]
pub struct Conversation<'a> {
    /// The array of messages. It and the others have at most 131072 values each.
    pub messages: &'a [u8],
    /// The array of tools; `null` is as good as none.
    pub tools: Option<&'a [u8]>,
    /// The object `chat_template_kwargs`; `null` is as good as none.
    pub kwargs: Option<&'a [u8]>,
    /// Seconds since 1970, for templates that tell the model the date.
    pub now_s: u64,
}

/// A chat template, compiled once.
pub struct Template {
    environment: Environment<'static>,
    /// Another one stands in the file for calls with tools.
    has_tool_use: bool,
    /// What the file says the special tokens are: name and text.
    tokens: Vec<(&'static str, String)>,
}

/// Why a file is not a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTemplate {
    /// The file is too large to be one.
    #[error("the file is larger than 32 MiB")]
    TooLarge,
    /// It begins like `tokenizer_config.json` and is not well-formed, or a member that is used has another type.
    #[error("line {line}: not a well-formed tokenizer_config.json")]
    NotJson {
        /// Line of the file.
        line: usize,
    },
    /// A `tokenizer_config.json` without `chat_template`.
    #[error("the file has no chat_template")]
    NoTemplate,
    /// Several templates, none of which is called `default`.
    #[error("none of the file's chat templates is called default")]
    NoDefault,
    /// The template is not well-formed.
    #[error("line {line} of the template: {what}")]
    Syntax {
        /// Line of the template.
        line: usize,
        /// What is wrong there.
        what: &'static str,
    },
}

/// Why there is no prompt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRendered {
    /// The template refused the messages: the caller is wrong.
    #[error("the model's chat template does not accept these messages")]
    Refused,
    /// Messages, tools or `chat_template_kwargs` are not what they must be: the caller is wrong.
    #[error("{0} is not valid")]
    Malformed(&'static str),
    /// The prompt became longer than a prompt may be.
    #[error("the prompt is longer than 4 MiB")]
    TooLong,
    /// The template did not come to its end.
    #[error("the chat template takes too many steps for these messages")]
    TooManySteps,
    /// The template failed, for example because a message lacks what it reads.
    #[error("line {line} of the chat template: {what}")]
    Broken {
        /// Line of the template.
        line: usize,
        /// What failed there.
        what: &'static str,
    },
}

impl Template {
    /// Reads a file: a Jinja template, or a `tokenizer_config.json` that holds one and the special tokens.
    ///
    /// # Errors
    /// The file holds no well-formed template.
    pub fn compile(source: &str) -> Result<Self, BadTemplate> {
        let file = file::read(source)?;
        let mut environment = environment::new();
        let mut add = |name, source: &str| {
            let source = generation::without_tags(&source.replace("\r\n", "\n"));
            environment
                .add_template_owned(name, source)
                .map_err(|error| BadTemplate::Syntax { line: error.line().unwrap_or(1), what: wrong_syntax(&error) })
        };
        add("default", &file.default)?;
        let has_tool_use = file.tool_use.is_some();
        if let Some(tool_use) = &file.tool_use {
            add("tool_use", tool_use)?;
        }
        Ok(Self { environment, has_tool_use, tokens: file.tokens })
    }

    /// The prompt for these messages, ready for the assistant's turn.
    ///
    /// # Errors
    /// The messages are not acceptable, or the template cannot cope with them.
    pub fn render(&self, asked: &Conversation<'_>) -> Result<String, NotRendered> {
        let tools = optional(asked.tools, ValueKind::Seq).ok_or(NotRendered::Malformed("tools"))?;
        let name = if self.has_tool_use && !tools.is_none() { "tool_use" } else { "default" };
        let template = self.environment.get_template(name).expect("the template was added when it was compiled");
        let mut prompt = Bounded(Vec::new());
        match template.render_captured_to(self.values(asked, tools)?, &mut prompt) {
            Ok(_) => Ok(String::from_utf8(prompt.0).expect("a template writes text")),
            Err(error) => Err(not_rendered(&error)),
        }
    }

    /// What the template sees. What the caller adds never takes the place of the messages.
    fn values(&self, asked: &Conversation<'_>, tools: Value) -> Result<Value, NotRendered> {
        let messages = read(asked.messages, ValueKind::Seq).ok_or(NotRendered::Malformed("messages"))?;
        let kwargs = optional(asked.kwargs, ValueKind::Map).ok_or(NotRendered::Malformed("chat_template_kwargs"))?;
        let now_s = asked.now_s;
        let tokens = Value::from_pairs(self.tokens.iter().map(|(name, text)| (*name, Value::from(text.as_str()))));
        let defaults = context! {
            documents => (),
            strftime_now => Value::from_function(move |format: &str| date::format(now_s, format)),
        };
        let fixed = context! { messages => arguments::read(&messages), tools, add_generation_prompt => true };
        // Of two with the same name the later one is seen.
        Ok(merge_maps([defaults, tokens, kwargs, fixed]))
    }
}

/// A value of this kind; none when it is another one, or too large to be built.
fn read(json: &[u8], kind: ValueKind) -> Option<Value> {
    if tree::values(json) > tree::MOST_VALUES {
        return None;
    }
    let value: Value = serde_json::from_slice(json).ok()?;
    (value.kind() == kind).then_some(value)
}

/// The same, where nothing and `null` are as good.
fn optional(json: Option<&[u8]>, kind: ValueKind) -> Option<Value> {
    match json.unwrap_or(b"null").trim_ascii() {
        b"null" => Some(Value::from(())),
        json => read(json, kind),
    }
}

/// A prompt that stops growing.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > LONGEST_PROMPT {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The library's own sentences quote the template; these do not.
fn wrong_syntax(error: &minijinja::Error) -> &'static str {
    let detail = error.detail().unwrap_or_default();
    let known = [
        ("unknown statement include", "a template cannot include another file"),
        ("unknown statement import", "a template cannot import another file"),
        ("unknown statement from", "a template cannot import another file"),
        ("unknown statement extends", "a template cannot extend another file"),
        ("unknown statement", "a statement that is not known here"),
        ("unexpected end of input", "the end comes inside a block or an expression"),
        ("unexpected", "a token that does not belong here"),
        ("unknown", "a token that does not belong here"),
    ];
    known.iter().find(|(start, _)| detail.starts_with(start)).map_or("not well-formed", |(_, what)| what)
}

fn not_rendered(error: &minijinja::Error) -> NotRendered {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        if error.is::<environment::Raised>() {
            return NotRendered::Refused;
        }
        if error.is::<environment::TooLong>() || error.downcast_ref().is_some_and(is_too_large) {
            return NotRendered::TooLong;
        }
        next = error.source();
    }
    if error.kind() == ErrorKind::OutOfFuel {
        return NotRendered::TooManySteps;
    }
    NotRendered::Broken { line: error.line().unwrap_or(1), what: broken(error.kind()) }
}

fn is_too_large(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::FileTooLarge
}

fn broken(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::UnknownFilter => "a filter that is not known here",
        ErrorKind::UnknownTest => "a test that is not known here",
        ErrorKind::UnknownFunction => "a function that is not known here",
        ErrorKind::UnknownMethod => "a method that the value does not have",
        ErrorKind::UndefinedError => "something that is not defined is used",
        _ => "an operation that is not possible with these values",
    }
}
