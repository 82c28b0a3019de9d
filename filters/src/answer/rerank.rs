//! Is this a well-formed answer of rerank, and what does the caller see of it?

use super::indexes::{MAX_INDEXES, in_order};
use super::list::Bounded;
use super::numbers::Finite;
use super::usage::Ranked;
use super::{Content, Expected, Fields, INVALID};
use crate::upstream_status::in_band;
use crate::upstream_status::loose::Loose;
use crate::writer::Writer;
use serde::Deserialize;
use spillway_policies::Failure;
use std::cmp::Ordering;

/// One answer: a score for each document, in their order, and the usage it states.
#[derive(Debug)]
pub(crate) struct Ranking {
    scores: Vec<f64>,
    /// The usage.
    pub(crate) usage: Option<Ranked>,
}

impl Ranking {
    /// Reads an answer to so many documents, as Cohere, Jina, Voyage, vLLM and llama.cpp write it (engines.md item 32).
    ///
    /// # Errors
    /// It is not a valid answer, or it is an error under a success status.
    pub(crate) fn read(body: &[u8], documents: usize) -> Result<Self, Failure> {
        let Fields(answer): Fields<Stated<'_>> = serde_json::from_slice(body).map_err(|_| INVALID)?;
        let stated = in_band::stated(answer.error.as_ref(), answer.object.as_ref(), answer.code.as_ref());
        if let Some(failure) = stated {
            return Err(failure);
        }
        let ((Some(Bounded(results)), None) | (None, Some(Bounded(results)))) = (answer.results, answer.data) else {
            return Err(INVALID);
        };
        if results.len() != documents {
            return Err(INVALID);
        }
        let score = |Fields(result): Fields<Scored>| {
            let Finite(score) = result.relevance_score.or(result.score)?;
            Some((Some(result.index), score))
        };
        let scored = results.into_iter().map(score).collect::<Option<Vec<_>>>().ok_or(INVALID)?;
        let scores = in_order(scored, false).ok_or(INVALID)?;
        let usage = answer.usage.map(|Fields(usage)| usage);
        if usage.is_some_and(|usage| !usage.is_sound()) {
            return Err(INVALID);
        }
        Ok(Self { scores, usage })
    }

    /// The documents by their place and with their score, best first; of equals the earlier one.
    pub(crate) fn best_first(&self) -> Vec<(usize, f64)> {
        let mut ranked: Vec<(usize, f64)> = self.scores.iter().copied().enumerate().collect();
        ranked.sort_by(|(_, one), (_, other)| other.partial_cmp(one).unwrap_or(Ordering::Equal));
        ranked
    }
}

/// How the caller reads a ranking.
#[derive(Debug)]
pub(crate) enum Form<'a> {
    /// SIE's, on `/v1/rerank`.
    First,
    /// Cohere's second, under an id of ours.
    Second {
        /// The id.
        id: &'a str,
    },
}

/// The answer the caller sees: its best results with the texts of its own documents, when it wants them.
pub(crate) fn shown(ranking: &Ranking, expected: &Expected, form: &Form<'_>, texts: &[Vec<u8>]) -> Vec<u8> {
    let results = ranking.best_first();
    let top_n = expected.top_n.unwrap_or(results.len()).min(results.len());
    let texts_len: usize = texts.iter().map(Vec::len).sum();
    let mut writer = Writer::new(Content::Json, 128 + 64 * top_n + texts_len);
    writer.object(|writer| {
        let (name, value) = match form {
            Form::First => ("model", expected.shown.model.as_str()),
            Form::Second { id } => ("id", *id),
        };
        writer.member(name);
        writer.text(value);
        writer.member("results");
        writer.list(|writer| {
            for (place, score) in &results[..top_n] {
                writer.element();
                write_result(*place, *score, texts.get(*place).map(Vec::as_slice), writer);
            }
        });
        match form {
            Form::First => {
                let usage = ranking.usage.and_then(Ranked::to_json);
                writer.member_if("usage", usage.as_ref().map(String::as_bytes));
            }
            Form::Second { .. } => writer.member_if("meta", Some(br#"{"api_version":{"version":"2"}}"#)),
        }
    });
    writer.into_bytes()
}

fn write_result(place: usize, score: f64, text: Option<&[u8]>, writer: &mut Writer) {
    writer.object(|writer| {
        writer.member("index");
        writer.whole(place as u64);
        writer.member("relevance_score");
        writer.float(score);
        if let Some(text) = text {
            writer.member("document");
            writer.object(|writer| writer.member_if("text", Some(text)));
        }
    });
}

/// What is read of an answer of rerank; everything else in it is nobody's.
#[derive(Deserialize)]
struct Stated<'a> {
    #[serde(borrow, default)]
    error: Option<Loose<'a>>,
    #[serde(borrow, default)]
    object: Option<Loose<'a>>,
    #[serde(borrow, default)]
    code: Option<Loose<'a>>,
    #[serde(default)]
    results: Option<Bounded<Fields<Scored>, MAX_INDEXES>>,
    #[serde(default)]
    data: Option<Bounded<Fields<Scored>, MAX_INDEXES>>,
    #[serde(default)]
    usage: Option<Fields<Ranked>>,
}

#[derive(Deserialize)]
struct Scored {
    index: u64,
    #[serde(default)]
    relevance_score: Option<Finite>,
    /// What some hosts call it.
    #[serde(default)]
    score: Option<Finite>,
}
