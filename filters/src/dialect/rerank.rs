//! How is rerank asked of an upstream? For a score of every document; what the caller sees of them is decided here.
//!
//! Cohere's two versions reach the one that upstreams have. The documents that the caller wants to see again are its own.

use super::{Answer, Asked, Caller, INVALID, NOT_REPLAYABLE, Raw, Reading, UNTRANSLATABLE, Whole, batches};
use crate::answer::rerank::{self, Form, Ranking};
use crate::answer::{self, Content, Expected, Members};
use crate::edit::{self, Outgoing};
use crate::{names, paths};
use spillway_policies::upstream::Kind;
use spillway_policies::verdict::Plan;
use spillway_policies::{Failure, Surface};

pub(super) fn ask(caller: Caller<'_>, plan: &Plan<'_>) -> Result<Asked, Failure> {
    let is_openai = matches!(plan.remote.upstream.kind, Kind::Openai(_));
    let mut outgoing = Outgoing::read(caller.body).map_err(|_| NOT_REPLAYABLE)?;
    put_text_of_query(&mut outgoing).ok_or(UNTRANSLATABLE)?;
    let wants_texts = outgoing.value("return_documents") == Some(b"true");
    let (count, texts) = put_texts_of_documents(&mut outgoing, wants_texts).ok_or(UNTRANSLATABLE)?;
    let sent = ["query", "documents"].iter().filter_map(|name| outgoing.value(name)).map(<[u8]>::len).sum();
    let most_bytes = most_bytes(count, sent);
    outgoing.drop_empty();
    outgoing.put_text("model", plan.remote.model.as_str());
    outgoing.put("top_n", count.to_string());
    if is_openai {
        outgoing.retain(|name| !matches!(name, "options" | "return_documents" | "return_embeddings"));
        outgoing.apply(&plan.remote.upstream.params);
    } else {
        outgoing.retain(|name| matches!(name, "model" | "query" | "documents" | "top_n" | "options"));
        edit::drop_profile(&mut outgoing).ok_or(NOT_REPLAYABLE)?;
    }
    let bodies = vec![outgoing.into_pieces()];
    let second_id = caller.second_rerank.then(|| caller.id.clone());
    let expected = super::expected(caller, plan);
    let back = super::Back::Rerank(Back { expected, documents: count, second_id, texts });
    Ok(Asked {
        path: paths::upstream_path(Surface::Rerank, plan.remote.model.as_str(), is_openai),
        accept: names::JSON,
        content_type: names::JSON.to_owned(),
        bodies,
        reading: Reading::Whole(Box::new(Whole { most_bytes, back })),
    })
}

/// Some engines take a query that is an object with a text; every upstream takes the text.
fn put_text_of_query(outgoing: &mut Outgoing<'_>) -> Option<()> {
    let query = outgoing.value("query")?;
    if !query.starts_with(b"\"") {
        let text = text(query)?;
        outgoing.put("query", text);
    }
    Some(())
}

/// The same of the documents. How many there are, and their raw texts where the caller wants to see them again.
fn put_texts_of_documents(outgoing: &mut Outgoing<'_>, wants_texts: bool) -> Option<(usize, Vec<Vec<u8>>)> {
    let documents = answer::values(Content::Json, outgoing.value("documents")?)?;
    // Which members of a document count cannot be said where it is a text.
    (!documents.is_empty() && outgoing.value("rank_fields").is_none()).then_some(())?;
    let count = documents.len();
    let are_plain = documents.iter().all(|document| document.starts_with(b"\""));
    if are_plain && !wants_texts {
        return Some((count, Vec::new()));
    }
    let texts = documents.into_iter().map(text).collect::<Option<Vec<_>>>()?;
    if !are_plain {
        outgoing.put("documents", [b"[", texts.join(&b',').as_slice(), b"]"].concat());
    }
    Some((count, if wants_texts { texts } else { Vec::new() }))
}

/// The raw text that a value is, or that an object has.
fn text(raw: &[u8]) -> Option<Vec<u8>> {
    if raw.starts_with(b"\"") {
        return Some(raw.to_vec());
    }
    let object = Members::read(Content::Json, raw)?;
    object.raw("text").filter(|text| text.starts_with(b"\"")).map(<[u8]>::to_vec)
}

/// Most bytes of an answer of rerank: 256 for each result, and the texts may be echoed with every character escaped (contract section
/// 5, answer bounds), but never more than any answer has.
pub(super) fn most_bytes(documents: usize, sent: usize) -> usize {
    let results = batches::OVERHEAD_BYTES.saturating_add(documents.saturating_mul(256));
    results.saturating_add(sent.saturating_mul(6)).min(batches::MOST_ANSWER_BYTES)
}

#[derive(Debug)]
pub(super) struct Back {
    expected: Expected,
    documents: usize,
    /// The id of an answer on `/v2/rerank`.
    second_id: Option<String>,
    /// The caller's documents as raw texts, when it wants to see them again.
    texts: Vec<Vec<u8>>,
}

impl Back {
    pub(super) fn read(&self, answers: &[Raw]) -> Result<Answer, Failure> {
        let [answer] = answers else { return Err(INVALID) };
        let ranking = Ranking::read(&answer.body, self.documents)?;
        let form = self.second_id.as_deref().map_or(Form::First, |id| Form::Second { id });
        let body = rerank::shown(&ranking, &self.expected, &form, &self.texts);
        Ok(Answer { content_type: names::JSON, body })
    }
}
