//! What stands in the file that an operator names? A bare Jinja template, or the `tokenizer_config.json` that models are published with.

use super::{BadTemplate, LONGEST_FILE};
use serde::Deserialize;
use std::borrow::Cow;

/// What is used of a file.
pub(super) struct File<'a> {
    pub(super) default: Cow<'a, str>,
    pub(super) tool_use: Option<Cow<'a, str>>,
    pub(super) tokens: Vec<(&'static str, String)>,
}

pub(super) fn read(source: &str) -> Result<File<'_>, BadTemplate> {
    if source.len() > LONGEST_FILE {
        return Err(BadTemplate::TooLarge);
    }
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    if !is_object(source) {
        return Ok(File { default: source.into(), tool_use: None, tokens: Vec::new() });
    }
    let config: Config<'_> =
        serde_json::from_str(source).map_err(|error| BadTemplate::NotJson { line: error.line() })?;
    let tokens = config.tokens();
    let (default, tool_use) = match config.chat_template.ok_or(BadTemplate::NoTemplate)? {
        Templates::One(template) => (template, None),
        Templates::Several(several) => {
            let called = |name| several.iter().find(|named| named.name == name).map(|named| named.template.clone());
            (called("default").ok_or(BadTemplate::NoDefault)?, called("tool_use"))
        }
    };
    Ok(File { default, tool_use, tokens })
}

/// A template begins with text, or with `{` and another of `{%#`; an object with `{` and a key.
fn is_object(source: &str) -> bool {
    source.trim_start().strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with(['"', '}']))
}

#[derive(Deserialize)]
struct Config<'a> {
    #[serde(borrow)]
    chat_template: Option<Templates<'a>>,
    #[serde(borrow)]
    bos_token: Option<Token<'a>>,
    #[serde(borrow)]
    eos_token: Option<Token<'a>>,
    #[serde(borrow)]
    unk_token: Option<Token<'a>>,
    #[serde(borrow)]
    sep_token: Option<Token<'a>>,
    #[serde(borrow)]
    pad_token: Option<Token<'a>>,
    #[serde(borrow)]
    cls_token: Option<Token<'a>>,
    #[serde(borrow)]
    mask_token: Option<Token<'a>>,
}

impl Config<'_> {
    fn tokens(&self) -> Vec<(&'static str, String)> {
        let all = [
            ("bos_token", &self.bos_token),
            ("eos_token", &self.eos_token),
            ("unk_token", &self.unk_token),
            ("sep_token", &self.sep_token),
            ("pad_token", &self.pad_token),
            ("cls_token", &self.cls_token),
            ("mask_token", &self.mask_token),
        ];
        let given = all.into_iter().filter_map(|(name, token)| token.as_ref().map(|token| (name, token)));
        given.map(|(name, token)| (name, token.text().to_owned())).collect()
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Templates<'a> {
    One(#[serde(borrow)] Cow<'a, str>),
    Several(#[serde(borrow)] Vec<Named<'a>>),
}

#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    template: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Token<'a> {
    Text(#[serde(borrow)] Cow<'a, str>),
    Added {
        #[serde(borrow)]
        content: Cow<'a, str>,
    },
}

impl Token<'_> {
    fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Added { content: text } => text,
        }
    }
}
