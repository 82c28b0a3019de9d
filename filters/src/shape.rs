//! What does the caller see of one event of an upstream's stream?

use crate::answer::{Content, Fields, Generated, Kind, Members, json_text, shaped};
use spillway_policies::Surface;

/// What an answer shows instead of what the upstream wrote.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// The model's name as the caller wrote it.
    pub model: String,
    /// A fresh id with the surface's prefix (`chatcmpl-`, `cmpl-`, `resp_`); other surfaces have none.
    pub id: String,
    /// When the answer was made, in seconds since 1970.
    pub created_s: u64,
    /// The caller asked for reasoning.
    pub include_reasoning: bool,
    /// The caller asked for usage in its stream.
    pub include_usage: bool,
}

impl Shown {
    /// Appends the start of a chat or completions object, up to where `choices` follows.
    pub(crate) fn open(&self, object: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"id\":");
        out.extend_from_slice(&json_text(&self.id));
        out.extend_from_slice(b",\"object\":");
        out.extend_from_slice(&json_text(object));
        out.extend_from_slice(format!(",\"created\":{},\"model\":", self.created_s).as_bytes());
        out.extend_from_slice(&json_text(&self.model));
    }
}

/// Dresses the events of one stream.
#[derive(Clone, Debug)]
pub struct Shaper {
    surface: Surface,
    /// What stands before `choices` in every chunk.
    opening: Vec<u8>,
    model: Vec<u8>,
    id: Vec<u8>,
    include_reasoning: bool,
    include_usage: bool,
}

impl Shaper {
    /// A shaper for one stream of `surface`.
    #[must_use]
    pub fn new(surface: Surface, shown: &Shown) -> Self {
        let mut opening = Vec::new();
        shown.open(if surface == Surface::Chat { "chat.completion.chunk" } else { "text_completion" }, &mut opening);
        Self {
            surface,
            opening,
            model: json_text(&shown.model),
            id: json_text(&shown.id),
            include_reasoning: shown.include_reasoning,
            include_usage: shown.include_usage,
        }
    }

    /// The data of one event as the caller sees it; none when nothing of it is for the caller. `[DONE]` stays.
    #[must_use]
    pub fn event(&self, data: &[u8]) -> Option<Vec<u8>> {
        if data.trim_ascii() == b"[DONE]" {
            return Some(b"[DONE]".to_vec());
        }
        let members = Members::read(Content::Json, data)?;
        match self.surface {
            Surface::Chat => self.chunk(&members, Kind::Delta),
            Surface::Completions => self.chunk(&members, Kind::Text),
            Surface::Responses => self.lifecycle(members),
            Surface::Audio
            | Surface::Embeddings
            | Surface::Encode
            | Surface::Extract
            | Surface::Generate
            | Surface::Rerank
            | Surface::Score => Some(self.renamed(members)),
        }
    }

    /// Chat and completions: choices, and usage when it was asked for. A chunk with neither is not for the caller.
    fn chunk(&self, members: &Members<'_>, kind: Kind) -> Option<Vec<u8>> {
        let choices = members.raw("choices").filter(|raw| *raw != b"null").unwrap_or(b"[]");
        let choices = shaped(choices, kind, self.include_reasoning)?;
        let usage = members.read_member::<Fields<Generated>>("usage").filter(|_| self.include_usage);
        if choices == b"[]" && usage.is_none() {
            return None;
        }
        let mut out = self.opening.clone();
        out.extend_from_slice(b",\"choices\":");
        out.extend_from_slice(&choices);
        match usage {
            Some(Fields(usage)) => {
                out.extend_from_slice(b",\"usage\":");
                out.extend_from_slice(&usage.to_json());
            }
            // A caller who asked for usage sees null until the last chunk.
            None if self.include_usage && members.raw("usage").is_some() => out.extend_from_slice(b",\"usage\":null"),
            None => {}
        }
        out.push(b'}');
        Some(out)
    }

    /// Responses: the response object inside a lifecycle event has the model's name and its id.
    fn lifecycle(&self, mut members: Members<'_>) -> Option<Vec<u8>> {
        let response = members.raw_cow("response").filter(|raw| raw.starts_with(b"{"));
        if let Some(response) = response {
            let mut response = Members::read(Content::Json, &response)?;
            response.set("id", self.id.clone());
            response.set("model", self.model.clone());
            members.set("response", response.to_bytes());
        }
        Some(members.to_bytes())
    }

    /// Generate: no event names the model, so one that does is corrected.
    fn renamed(&self, mut members: Members<'_>) -> Vec<u8> {
        if members.raw("model").is_some() {
            members.set("model", self.model.clone());
        }
        members.to_bytes()
    }
}
