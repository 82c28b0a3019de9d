//! Is this a well-formed answer of score, and what does the caller see of it?
//!
//! Scores come in falling order with their ranks, as SIE gives them (contract section 1.3), whatever order the upstream chose.

use super::cursor::Cursor;
use super::indexes::are_distinct_below;
use super::members::Members;
use super::native::{answer, items};
use super::{Content, Expected};
use crate::writer::Writer;

/// Most scores of one answer, when the caller's number is not known.
const MAX_SCORES: usize = 65_536;

/// The answer as the caller sees it; none when it is not a valid one.
pub(super) fn shown(members: &Members<'_>, expected: &Expected) -> Option<Vec<u8>> {
    let mut scores = read_scores(members, expected)?;
    scores.sort_by(|one, other| other.score.total_cmp(&one.score).then(one.place.cmp(&other.place)));
    answer(members, expected, |writer| {
        write_query_id(members, writer)?;
        writer.member("scores");
        writer.list_of(scores.len(), |writer| {
            let ranked = scores.iter().zip(0..);
            ranked.for_each(|(score, rank)| {
                writer.element();
                write_score(score, rank, expected, writer);
            });
        });
        Some(())
    })
}

struct Score<'a> {
    /// The item's place among the caller's, or where that is not known, the score's among its like.
    place: usize,
    item_id: &'a [u8],
    score: f64,
    /// The score as it stands.
    raw: &'a [u8],
}

fn read_scores<'a>(members: &'a Members<'_>, expected: &Expected) -> Option<Vec<Score<'a>>> {
    let content = members.content();
    let wanted = items(expected);
    let mut scores = Vec::new();
    Cursor::new(content, members.raw("scores")?).list(|cursor| {
        (scores.len() < wanted.unwrap_or(MAX_SCORES)).then_some(())?;
        let mut score = None;
        let [item_id, raw] = cursor.members(&["item_id", "score"], |name, cursor| match name {
            "item_id" => cursor.any_text(),
            // Zero and minus zero are one score.
            _ => cursor.number()?.float().filter(|found| found.is_finite()).map(|found| score = Some(found + 0.0)),
        })?;
        scores.push(Score { place: scores.len(), item_id: item_id?, score: score?, raw: raw? });
        Some(())
    })?;
    if !expected.ids.is_empty() {
        scores.iter_mut().try_for_each(|score| position(content, score.item_id).map(|place| score.place = place))?;
        are_distinct_below(scores.iter().map(|score| Some(score.place as u64)), expected.ids.len()).then_some(())?;
    }
    wanted.is_none_or(|wanted| wanted == scores.len()).then_some(scores)
}

/// The place that a positional id names: digits without a leading zero.
fn position(content: Content, item_id: &[u8]) -> Option<usize> {
    let id = Cursor::new(content, item_id).text()?;
    let is_canonical = id.bytes().all(|byte| byte.is_ascii_digit()) && (id == "0" || !id.starts_with('0'));
    id.parse().ok().filter(|_| is_canonical)
}

fn write_score(score: &Score<'_>, rank: u64, expected: &Expected, writer: &mut Writer) {
    writer.object(|writer| {
        writer.member("item_id");
        match expected.ids.get(score.place) {
            None => writer.raw(score.item_id),
            Some(Some(id)) => writer.raw(id),
            Some(None) => writer.text(&format!("item-{}", score.place)),
        }
        writer.member_if("score", Some(score.raw));
        writer.member("rank");
        writer.whole(rank);
    });
}

fn write_query_id(members: &Members<'_>, writer: &mut Writer) -> Option<()> {
    writer.member("query_id");
    match members.raw("query_id") {
        None => writer.null(),
        Some(raw) => {
            Cursor::new(members.content(), raw).null_or(Cursor::any_text)?;
            writer.raw(raw);
        }
    }
    Some(())
}
