//! How is encode asked of an OpenAI host? Its texts become the inputs of embeddings, and the vectors SIE's own items.
//!
//! One request carries as many texts as it may, and the vectors are asked for in base64 (contract section 6 asks one by one, in numbers).

use super::dtype;
use super::items::{self, Items};
use super::{Answer, Asked, Caller, INVALID, Raw, Reading, UNTRANSLATABLE, Whole, batches};
use crate::answer::embeddings::Embeddings;
use crate::answer::vector::Vector;
use crate::answer::{Bounded, Content, Fields, OutputDtype, Tokens};
use crate::edit::{Outgoing, Piece};
use crate::upstream_status::loose::Text;
use crate::writer::Writer;
use crate::{names, paths};
use serde::Deserialize;
use serde::de::IgnoredAny;
use spillway_policies::verdict::Plan;
use spillway_policies::{Failure, Surface};

pub(super) fn ask(caller: &Caller<'_>, plan: &Plan<'_>) -> Result<Asked, Failure> {
    let call: Call<'_> = items::read(caller.format, caller.body)?;
    let params = call.params.map_or_else(Params::default, |Fields(params)| params);
    let options = params.options.map_or_else(Options::default, |Fields(options)| options);
    options.are_servable()?;
    only_dense(options.output_types.or(params.output_types).as_ref())?;
    // To SIE an empty name is none.
    let dtype = [params.output_dtype, options.output_dtype].into_iter().flatten().find(|name| !name.0.is_empty());
    let dtype = dtype.map_or(Some(OutputDtype::Float32), |name| OutputDtype::named(&name.0)).ok_or(UNTRANSLATABLE)?;
    let instruction = params.instruction.or(options.instruction);
    let instruction = instruction.as_ref().map(|text| text.0.as_ref());
    let texts = items::texts(&call.items.0)?;
    let runs = batches::openai(plan, texts.iter().map(|text| text.len()));
    let most_bytes = batches::most_embedded_bytes(plan, &runs);
    let back = Back {
        model: caller.model.to_owned(),
        ids: call.items.0.iter().map(|Fields(item)| item.id()).collect(),
        batches: runs.iter().map(ExactSizeIterator::len).collect(),
        reads: caller.reads,
        dim: plan.tasks.dense_dim.map(|dim| dim as usize),
        dtype,
        is_normalized: options.normalize == Some(true),
    };
    Ok(Asked {
        path: paths::upstream_path(Surface::Embeddings, plan.remote.model.as_str(), true),
        accept: names::JSON,
        content_type: names::JSON.to_owned(),
        bodies: runs.into_iter().map(|run| body(plan, items::json_list(instruction, &texts[run]))).collect(),
        reading: Reading::Whole(Box::new(Whole { most_bytes, back: super::Back::Vectors(back) })),
    })
}

fn body(plan: &Plan<'_>, input: Vec<u8>) -> Vec<Piece> {
    let mut outgoing = Outgoing::empty(&[]);
    outgoing.put_text("model", plan.remote.model.as_str());
    outgoing.put_text("encoding_format", "base64");
    outgoing.put("input", input);
    outgoing.apply(&plan.remote.upstream.params);
    outgoing.into_pieces()
}

/// Most names of outputs in one call; there are three.
const MOST_OUTPUTS: usize = 16;

/// An OpenAI host gives dense vectors only.
fn only_dense(outputs: Option<&Bounded<Text<'_>, MOST_OUTPUTS>>) -> Result<(), Failure> {
    match outputs {
        None => Ok(()),
        Some(Bounded(outputs)) if !outputs.is_empty() && outputs.iter().all(|output| output.0 == "dense") => Ok(()),
        Some(_) => Err(UNTRANSLATABLE),
    }
}

#[derive(Debug)]
pub(super) struct Back {
    model: String,
    ids: Vec<Option<String>>,
    pub(super) batches: Vec<usize>,
    reads: Content,
    /// The declared width.
    dim: Option<usize>,
    dtype: OutputDtype,
    is_normalized: bool,
}

impl Back {
    pub(super) fn read(&self, answers: &[Raw]) -> Result<Answer, Failure> {
        let read = batches::paired(answers, &self.batches)?.map(|(raw, count)| Embeddings::read(&raw.body, count));
        let answers = read.collect::<Result<Vec<_>, _>>()?;
        // SIE's own count is exact or not there (contract section 5, usage).
        let tokens = Tokens::sum(answers.iter().map(|answer| answer.tokens)).filter(|tokens| !tokens.is_estimate);
        let width = self.width(&answers).ok_or(INVALID)?;
        let mut writer = Writer::new(self.reads, self.room(&answers, width));
        let vectors = answers.iter().flat_map(|answer| &answer.vectors);
        writer.object(|writer| {
            writer.member("model");
            writer.text(&self.model);
            writer.member("items");
            self.write_items(vectors, width, writer).ok_or(INVALID)?;
            writer.member("timing");
            writer.null();
            if let Some(tokens) = tokens {
                writer.member("usage");
                writer.object(|writer| {
                    writer.member("input_tokens");
                    writer.whole(tokens.count);
                });
            }
            Ok(())
        })?;
        Ok(Answer { content_type: self.reads.mime(), body: writer.into_bytes() })
    }

    fn write_items<'v>(
        &self,
        vectors: impl Iterator<Item = &'v Vector<'v>>,
        width: usize,
        writer: &mut Writer,
    ) -> Option<()> {
        let (mut floats, mut buffer) = (Vec::new(), Vec::new());
        writer.list_of(self.ids.len(), |writer| {
            vectors.zip(&self.ids).try_for_each(|(vector, id)| {
                floats.clear();
                (vector.append_to(&mut floats)? == width).then_some(())?;
                if self.is_normalized {
                    dtype::normalize(&mut floats);
                }
                writer.element();
                self.write_item(id.as_deref(), self.dtype.pack(&floats, &mut buffer), writer)
            })
        })
    }

    fn write_item(&self, id: Option<&str>, packed: &[u8], writer: &mut Writer) -> Option<()> {
        let (dims, name) = self.dtype.stated(packed.len() / self.dtype.size(), self.dim);
        writer.object(|writer| {
            if let Some(id) = id {
                writer.member("id");
                writer.text(id);
            }
            writer.member("dense");
            writer.object(|writer| {
                writer.member("dims");
                writer.whole(dims as u64);
                writer.member("dtype");
                writer.text(name);
                writer.member("values");
                match self.reads {
                    Content::Msgpack => self.dtype.write_array(packed, writer.buffer()),
                    Content::Json | Content::Text => self.dtype.write_json(packed, writer.buffer())?,
                }
                Some(())
            })
        })
    }

    /// How wide every vector is: as declared, or as the first one.
    fn width(&self, answers: &[Embeddings<'_>]) -> Option<usize> {
        let first = || answers.first()?.vectors.first()?.append_to(&mut Vec::new());
        self.dim.or_else(first)
    }

    /// How long the answer becomes, as far as what the upstream sent can fill it; a number in JSON is about twenty bytes.
    fn room(&self, answers: &[Embeddings<'_>], width: usize) -> usize {
        let number = if self.reads == Content::Msgpack { self.dtype.size() } else { 20 };
        let vector = |vector: &Vector<'_>| width.saturating_mul(number).min(vector.as_json().len().saturating_mul(4));
        let vectors = answers.iter().flat_map(|answer| &answer.vectors).map(|found| vector(found) + 128);
        vectors.sum::<usize>() + self.ids.iter().flatten().map(String::len).sum::<usize>() + 256
    }
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    items: Items<'a>,
    #[serde(borrow, default)]
    params: Option<Fields<Params<'a>>>,
}

#[derive(Default, Deserialize)]
struct Params<'a> {
    #[serde(borrow, default)]
    output_types: Option<Bounded<Text<'a>, MOST_OUTPUTS>>,
    #[serde(borrow, default)]
    output_dtype: Option<Text<'a>>,
    #[serde(borrow, default)]
    instruction: Option<Text<'a>>,
    #[serde(borrow, default)]
    options: Option<Fields<Options<'a>>>,
}

/// Options that change what is asked or how it is read. SIE hands the others to its own adapters, which an OpenAI host has none of.
#[derive(Default, Deserialize)]
struct Options<'a> {
    #[serde(borrow, default)]
    output_types: Option<Bounded<Text<'a>, MOST_OUTPUTS>>,
    #[serde(borrow, default)]
    output_dtype: Option<Text<'a>>,
    #[serde(borrow, default)]
    instruction: Option<Text<'a>>,
    #[serde(default)]
    normalize: Option<bool>,
    #[serde(default)]
    lora: Option<IgnoredAny>,
    #[serde(default)]
    lora_id: Option<IgnoredAny>,
    #[serde(default)]
    muvera: Option<IgnoredAny>,
    #[serde(default)]
    smve: Option<IgnoredAny>,
    #[serde(default)]
    query_template: Option<IgnoredAny>,
    #[serde(default)]
    doc_template: Option<IgnoredAny>,
}

impl Options<'_> {
    /// Adapters, other outputs made of multivectors, and templates cannot be had.
    fn are_servable(&self) -> Result<(), Failure> {
        let asked = [self.lora, self.lora_id, self.muvera, self.smve, self.query_template, self.doc_template];
        if asked.iter().any(Option::is_some) { Err(UNTRANSLATABLE) } else { Ok(()) }
    }
}
