//! How are encode, score and extract asked of a SIE upstream? In the caller's own format, with the fields that SIE knows.
//!
//! An upstream sees no id of the caller's: it answers in order, or by places. What is large stays where it is held.

use super::{Answer, Asked, Caller, INVALID, NOT_REPLAYABLE, Raw, Reading, Whole, batches, scores};
use crate::answer::{self, Content, Expected, Fields, Members, OutputDtype, Outputs};
use crate::call::Format;
use crate::edit::{self, Piece};
use crate::paths;
use crate::upstream_status::loose::Text;
use crate::writer::Writer;
use serde::Deserialize;
use spillway_policies::verdict::Plan;
use spillway_policies::{Failure, Surface};
use std::borrow::Cow;
use std::ops::Range;

/// The members of an item that an upstream is told.
const ITEM: [&str; 6] = ["text", "images", "audio", "video", "document", "metadata"];

pub(super) fn ask(caller: Caller<'_>, plan: &Plan<'_>) -> Result<Asked, Failure> {
    let content = if caller.format == Format::Msgpack { Content::Msgpack } else { Content::Json };
    let call = Call::read(content, &caller).ok_or(NOT_REPLAYABLE)?;
    let item_bytes = call.answer_bytes(caller.reads, plan);
    // Scores of one call are comparable only with each other.
    let runs = match caller.surface {
        Surface::Score => std::iter::once(0..call.items.len()).collect(),
        _ => batches::sie(plan, call.items.len(), item_bytes),
    };
    let longest = runs.iter().map(ExactSizeIterator::len).max().unwrap_or(0);
    let most_bytes = batches::most_bytes(item_bytes, longest);
    let bodies = runs.iter().map(|run| call.body(run)).collect();
    let (surface, reads) = (caller.surface, caller.reads);
    let query_id = call.query.as_ref().and_then(id).map(|id| raw_text(reads, &id));
    let (outputs, output_dtype) = (call.outputs().unwrap_or_default(), call.output_dtype());
    let expected = Expected { outputs, output_dtype, ..super::expected(caller, plan) };
    let expected = runs.iter().map(|run| call.expected(run, reads, &expected)).collect();
    let back = super::Back::Native(Back { surface, reads, expected, query_id });
    Ok(Asked {
        path: paths::upstream_path(surface, plan.remote.model.as_str(), false),
        accept: reads.mime(),
        content_type: content.mime().to_owned(),
        bodies,
        reading: Reading::Whole(Box::new(Whole { most_bytes, back })),
    })
}

/// A call taken apart; its values are raw.
struct Call<'a> {
    content: Content,
    surface: Surface,
    held: &'a [u8],
    /// What is scored against.
    query: Option<Members<'a>>,
    items: Vec<Members<'a>>,
    /// The members of `params`, or those of score beside its query and items.
    params: Members<'a>,
}

impl<'a> Call<'a> {
    fn read(content: Content, caller: &Caller<'a>) -> Option<Self> {
        let (surface, held) = (caller.surface, caller.body);
        let mut call = Members::read(content, held)?;
        let Some(Cow::Borrowed(items)) = call.raw_cow("items") else { return None };
        let items = answer::values(content, items)?.into_iter().map(|item| Members::read(content, item));
        let items = items.collect::<Option<Vec<_>>>()?;
        let query = match surface {
            Surface::Score => Some(read_borrowed(content, call.raw_cow("query")?)?),
            _ => None,
        };
        let mut params = match (surface, call.raw_cow("params").filter(|raw| !is_null(raw))) {
            (Surface::Score, _) => {
                call.retain(|name| matches!(name, "instruction" | "options"));
                call
            }
            (_, Some(params)) => read_borrowed(content, params)?,
            (_, None) => Members::empty(content),
        };
        if caller.details.profile.is_some() {
            // The name of one of our profiles means another one at an upstream, or nothing.
            match edit::unprofiled(content, params.raw("options")?)? {
                options if is_empty(&options) => params.retain(|name| name != "options"),
                options => params.set("options", options),
            }
        }
        (!items.is_empty()).then_some(Self { content, surface, held, query, items, params })
    }

    /// The names of `params` that an upstream is told.
    const fn known(&self) -> &'static [&'static str] {
        match self.surface {
            Surface::Encode => &["output_types", "output_dtype", "instruction", "options"],
            Surface::Extract => &["labels", "output_schema", "instruction", "options"],
            _ => &["instruction", "options"],
        }
    }

    /// The body of one request: these items and what is said about all of them.
    fn body(&self, run: &Range<usize>) -> Vec<Piece> {
        let said: Vec<_> = self.known().iter().filter_map(|name| Some((*name, self.params.raw(name)?))).collect();
        let mut writer = Writer::new(self.content, 512);
        let mut gaps = Gaps { held: self.held, found: Vec::new() };
        writer.object(|writer| {
            if let Some(query) = &self.query {
                writer.member("query");
                gaps.item(query, None, writer);
            }
            writer.member("items");
            writer.list_of(run.len(), |writer| {
                for (place, item) in self.items[run.clone()].iter().enumerate() {
                    writer.element();
                    gaps.item(item, self.query.is_some().then_some(place), writer);
                }
            });
            if self.query.is_some() {
                gaps.members(&said, writer);
            } else if !said.is_empty() {
                writer.member("params");
                writer.object(|writer| gaps.members(&said, writer));
            }
        });
        gaps.pieces(&writer.into_bytes())
    }

    /// The outputs that encode asks for, when it says so; SIE looks into `options` first.
    fn outputs(&self) -> Option<Outputs> {
        let options = self.params.raw("options").and_then(|raw| Members::read(self.content, raw));
        let elsewhere =
            options.and_then(|options| options.read_member::<Vec<Text<'_>>>("output_types").map(|all| said(&all)));
        elsewhere.or_else(|| self.params.read_member::<Vec<Text<'_>>>("output_types").map(|all| said(&all)))
    }

    /// The numbers in which encode is asked to write its vectors.
    fn output_dtype(&self) -> OutputDtype {
        let options = self.params.raw("options").and_then(|raw| Members::read(self.content, raw));
        // To SIE an empty name is none.
        let dtype = [Some(&self.params), options.as_ref()].into_iter().flatten();
        let mut dtype = dtype.filter_map(|said| said.read_member::<Text<'_>>("output_dtype"));
        let dtype = dtype.find(|name| !name.0.is_empty());
        dtype.and_then(|name| OutputDtype::named(&name.0)).unwrap_or_default()
    }

    /// Most bytes of an answer for one item; none when that is not known (contract section 5, answer bounds). What takes sixteen bytes
    /// in msgpack takes twice as many in JSON.
    fn answer_bytes(&self, reads: Content, plan: &Plan<'_>) -> Option<usize> {
        let tasks = plan.tasks;
        let (dense, sparse) = (tasks.dense_dim, tasks.sparse.and_then(|sparse| sparse.dim));
        let declared = Outputs {
            dense: dense.is_some(),
            sparse: tasks.sparse.is_some(),
            multivector: tasks.multivector_dim.is_some(),
        };
        match (self.surface, self.outputs().unwrap_or(declared)) {
            (Surface::Score, _) => Some(256),
            (Surface::Encode, Outputs { dense: has_dense, sparse: has_sparse, multivector: false })
                if has_dense || has_sparse =>
            {
                let dense = if has_dense { dense? as usize } else { 0 };
                let sparse = if has_sparse { 2 * sparse? as usize } else { 0 };
                let value = if reads == Content::Msgpack { 16 } else { 32 };
                Some(dense.saturating_add(sparse).saturating_mul(value).saturating_add(256))
            }
            _ => None,
        }
    }

    /// What the answer to one request must fit, and the ids that the caller sees in it.
    fn expected(&self, run: &Range<usize>, reads: Content, shared: &Expected) -> Expected {
        let id = |(place, item): (usize, &Members<'_>)| match (self.surface, id(item)) {
            (_, Some(id)) => Some(raw_text(reads, &id)),
            (Surface::Encode, None) => None,
            // SIE shows these where an item has none (contract section 1.3).
            (_, None) => Some(raw_text(reads, &scores::placed(place))),
        };
        let ids = self.items.iter().enumerate().skip(run.start).take(run.len()).map(id).collect();
        Expected { items: Some(run.len()), ids, ..shared.clone() }
    }
}

/// Where a body lacks large values, because they stay in the held one.
struct Gaps<'a> {
    held: &'a [u8],
    /// Places in what is written, each with the range of the held body that stands there.
    found: Vec<(usize, Range<usize>)>,
}

impl Gaps<'_> {
    /// Writes an item without the caller's id; those of score are named by their places.
    fn item(&mut self, item: &Members<'_>, place: Option<usize>, writer: &mut Writer) {
        let said: Vec<_> = ITEM.into_iter().filter_map(|name| Some((name, item.raw(name)?))).collect();
        writer.object(|writer| {
            if let Some(place) = place {
                writer.member("id");
                writer.text(&place.to_string());
            }
            self.members(&said, writer);
        });
    }

    /// Writes members; those with a large value as a gap.
    fn members(&mut self, members: &[(&str, &[u8])], writer: &mut Writer) {
        for (name, value) in members {
            writer.member(name);
            match edit::place(self.held, value).filter(|range| range.len() > edit::SMALL) {
                Some(range) => self.found.push((writer.buffer().len(), range)),
                None => writer.raw(value),
            }
        }
    }

    /// The body in pieces.
    fn pieces(self, written: &[u8]) -> Vec<Piece> {
        let mut pieces = Vec::with_capacity(2 * self.found.len() + 1);
        let mut start = 0;
        for (end, range) in self.found {
            pieces.push(Piece::New(written[start..end].to_vec()));
            pieces.push(Piece::Held(range));
            start = end;
        }
        pieces.push(Piece::New(written[start..].to_vec()));
        pieces
    }
}

#[derive(Debug)]
pub(super) struct Back {
    surface: Surface,
    reads: Content,
    /// What the answer to each request must fit.
    expected: Vec<Expected>,
    /// The caller's own id of its query, raw; an upstream is not told it.
    query_id: Option<Vec<u8>>,
}

impl Back {
    pub(super) fn read(&self, answers: &[Raw]) -> Result<Answer, Failure> {
        if answers.len() != self.expected.len() {
            return Err(INVALID);
        }
        let checked = answers.iter().zip(&self.expected);
        let checked = checked.map(|(raw, expected)| answer::check(self.surface, self.reads, &raw.body, expected));
        let checked = checked.collect::<Result<Vec<_>, _>>()?;
        let body = match &checked[..] {
            [one] if self.surface == Surface::Score => self.with_query_id(one),
            [_] => checked.into_iter().next().map(Cow::into_owned),
            several => self.merged(several),
        };
        Ok(Answer { content_type: self.reads.mime(), body: body.ok_or(INVALID)? })
    }

    /// Checks the answer to the request at `place`.
    pub(super) fn check(&self, place: usize, raw: &Raw) -> Result<(), Failure> {
        let expected = self.expected.get(place).ok_or(INVALID)?;
        answer::check(self.surface, self.reads, &raw.body, expected).map(drop)
    }

    fn with_query_id(&self, answer: &[u8]) -> Option<Vec<u8>> {
        let mut members = Members::read(self.reads, answer)?;
        members.set("query_id", self.query_id.clone().unwrap_or_else(|| self.reads.null().to_vec()));
        Some(members.to_bytes())
    }

    /// The items of all answers in their order, and their usage together.
    fn merged(&self, answers: &[Cow<'_, [u8]>]) -> Option<Vec<u8>> {
        let read = answers.iter().map(|answer| Members::read(self.reads, answer));
        let answers = read.collect::<Option<Vec<_>>>()?;
        let usage: Option<Vec<Usage>> = answers.iter().map(|answer| Usage::of(answer)).collect();
        let items = answers.iter().map(|answer| answer::values(self.reads, answer.raw("items")?));
        let items = items.collect::<Option<Vec<_>>>()?.concat();
        let has_timing = self.surface == Surface::Encode;
        let mut writer = Writer::new(self.reads, 256 + items.iter().map(|item| item.len() + 1).sum::<usize>());
        writer.object(|writer| {
            writer.member_if("model", Some(answers.first()?.raw("model")?));
            writer.member("items");
            writer.list_of(items.len(), |writer| {
                for item in items {
                    writer.element();
                    writer.raw(item);
                }
            });
            if has_timing {
                // Each request took its own time.
                writer.member("timing");
                writer.null();
            }
            if let Some(usage) = usage {
                writer.member("usage");
                Usage::write_sum(&usage, writer);
            }
            Some(())
        })?;
        Some(writer.into_bytes())
    }
}

/// Usage that was checked.
#[derive(Clone, Copy, Deserialize)]
struct Usage {
    input_tokens: u64,
    #[serde(default)]
    images: Option<u64>,
}

impl Usage {
    fn of(answer: &Members<'_>) -> Option<Self> {
        answer.read_member::<Option<Fields<Self>>>("usage")?.map(|Fields(usage)| usage)
    }

    /// The sums; of images only when all requests state them.
    fn write_sum(all: &[Self], writer: &mut Writer) {
        let images: Option<u64> = all.iter().map(|usage| usage.images).sum();
        writer.object(|writer| {
            writer.member("input_tokens");
            writer.whole(all.iter().map(|usage| usage.input_tokens).sum());
            if let Some(images) = images {
                writer.member("images");
                writer.whole(images);
            }
        });
    }
}

/// The outputs of these names.
fn said(names: &[Text<'_>]) -> Outputs {
    let is_said = |wanted: &str| names.iter().any(|name| name.0 == wanted);
    Outputs { dense: is_said("dense"), sparse: is_said("sparse"), multivector: is_said("multivector") }
}

/// The object that a raw value of the held body is.
fn read_borrowed<'a>(content: Content, raw: Cow<'a, [u8]>) -> Option<Members<'a>> {
    let Cow::Borrowed(raw) = raw else { return None };
    Members::read(content, raw)
}

fn is_empty(raw: &[u8]) -> bool {
    matches!(raw, b"{}" | [0x80])
}

fn is_null(raw: &[u8]) -> bool {
    matches!(raw, b"null" | [0xc0])
}

/// The caller's id of an item.
fn id(item: &Members<'_>) -> Option<String> {
    item.read_member::<Option<Text<'_>>>("id")?.map(|id| id.0.into_owned())
}

/// A text as a raw value of an answer.
fn raw_text(content: Content, text: &str) -> Vec<u8> {
    let mut writer = Writer::new(content, text.len() + 8);
    writer.text(text);
    writer.into_bytes()
}
