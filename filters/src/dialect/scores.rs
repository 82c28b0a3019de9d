//! How is score asked of an OpenAI host? Its items become the documents of rerank, and the results SIE's own scores.

use super::items::{self, Item, Items};
use super::{Answer, Asked, Caller, INVALID, Raw, Reading, Whole, rerank};
use crate::answer::rerank::Ranking;
use crate::answer::{Content, Fields};
use crate::edit::Outgoing;
use crate::upstream_status::loose::Text;
use crate::writer::Writer;
use crate::{names, paths};
use serde::Deserialize;
use spillway_policies::verdict::Plan;
use spillway_policies::{Failure, Surface};

pub(super) fn ask(caller: &Caller<'_>, plan: &Plan<'_>) -> Result<Asked, Failure> {
    let call: Call<'_> = items::read(caller.format, caller.body)?;
    let options = call.options.map_or_else(Options::default, |Fields(options)| options);
    let instruction = call.instruction.or(options.instruction);
    let instruction = instruction.as_ref().map(|text| text.0.as_ref());
    let query = items::json_prefixed(instruction, call.query.0.plain()?);
    let documents = items::json_list(None, &items::texts(&call.items.0)?);
    let most_bytes = rerank::most_bytes(call.items.0.len(), query.len() + documents.len());
    let mut outgoing = Outgoing::empty(&[]);
    outgoing.put_text("model", plan.remote.model.as_str());
    outgoing.put("query", query);
    outgoing.put("documents", documents);
    outgoing.put("top_n", call.items.0.len().to_string());
    outgoing.apply(&plan.remote.upstream.params);
    let ids = call.items.0.iter().enumerate().map(|(place, Fields(item))| item.id().unwrap_or_else(|| placed(place)));
    let back =
        Back { model: caller.model.to_owned(), query_id: call.query.0.id(), ids: ids.collect(), reads: caller.reads };
    Ok(Asked {
        path: paths::upstream_path(Surface::Rerank, plan.remote.model.as_str(), true),
        accept: names::JSON,
        content_type: names::JSON.to_owned(),
        bodies: vec![outgoing.into_pieces()],
        reading: Reading::Whole(Box::new(Whole { most_bytes, back: super::Back::Scores(back) })),
    })
}

/// The id that SIE shows for an item that has none (contract section 1.3).
pub(super) fn placed(place: usize) -> String {
    format!("item-{place}")
}

#[derive(Debug)]
pub(super) struct Back {
    model: String,
    query_id: Option<String>,
    ids: Vec<String>,
    reads: Content,
}

impl Back {
    pub(super) fn read(&self, answers: &[Raw]) -> Result<Answer, Failure> {
        let [answer] = answers else { return Err(INVALID) };
        let ranking = Ranking::read(&answer.body, self.ids.len())?;
        let tokens = ranking.usage.and_then(|usage| usage.tokens());
        let ids: usize = self.ids.iter().map(String::len).sum();
        let mut writer = Writer::new(self.reads, 256 + self.ids.len() * 64 + ids);
        writer.object(|writer| {
            writer.member("model");
            writer.text(&self.model);
            writer.member("query_id");
            match &self.query_id {
                Some(id) => writer.text(id),
                None => writer.null(),
            }
            writer.member("scores");
            self.write_scores(&ranking, writer);
            if let Some(tokens) = tokens {
                writer.member("usage");
                writer.object(|writer| {
                    writer.member("input_tokens");
                    writer.whole(tokens.into());
                });
            }
        });
        Ok(Answer { content_type: self.reads.mime(), body: writer.into_bytes() })
    }

    fn write_scores(&self, ranking: &Ranking, writer: &mut Writer) {
        let best_first = ranking.best_first();
        writer.list_of(best_first.len(), |writer| {
            for (rank, (place, score)) in best_first.into_iter().enumerate() {
                writer.element();
                writer.object(|writer| {
                    writer.member("item_id");
                    writer.text(&self.ids[place]);
                    writer.member("score");
                    writer.float(score);
                    writer.member("rank");
                    writer.whole(rank as u64);
                });
            }
        });
    }
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    query: Fields<Item<'a>>,
    #[serde(borrow)]
    items: Items<'a>,
    #[serde(borrow, default)]
    instruction: Option<Text<'a>>,
    #[serde(borrow, default)]
    options: Option<Fields<Options<'a>>>,
}

#[derive(Default, Deserialize)]
struct Options<'a> {
    #[serde(borrow, default)]
    instruction: Option<Text<'a>>,
}
