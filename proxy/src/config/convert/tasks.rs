//! `tasks`: what a model declares to do, with the sizes that answers are checked against.

use super::model::{MOST_TOKENS, TASKS};
use crate::config::table::{Node, Table};
use spillway_policies::routing::{Sparse, Tasks};
use spillway_policies::surface::Task;

/// Widest vector that makes sense.
const MOST_DIM: u32 = 1 << 24;

/// The declared tasks; none when anything about them is wrong.
pub(super) fn tasks(node: &Node<'_>) -> Option<Tasks> {
    let mistakes = node.place.mistakes();
    let mut table = node.table()?;
    let mut tasks = Tasks::default();
    for (key, task) in TASKS {
        let Some(declared) = table.take(key) else { continue };
        tasks.declare(task);
        if let Some(details) = declared.table() {
            match task {
                Task::Encode => encode(details, &mut tasks),
                Task::Generate => generate(details, &mut tasks),
                Task::Extract | Task::Score | Task::Transcribe => details.finish(),
            }
        }
    }
    table.finish();
    (node.place.mistakes() == mistakes).then_some(tasks)
}

fn encode(mut table: Table<'_>, tasks: &mut Tasks) {
    let place = table.place.clone();
    let dense = table.take("dense").and_then(|node| node.table());
    let sparse = table.take("sparse").and_then(|node| node.table());
    let multivector = table.take("multivector").and_then(|node| node.table());
    if dense.is_none() && sparse.is_none() && multivector.is_none() {
        place.wrong(
            "must declare what it gives: dense, sparse or multivector",
            "such as encode = { dense = { dim = 1024 } }",
        );
    }
    let dim_hint = "the width of each vector";
    tasks.dense_dim = dense.and_then(|table| dim(table, Some(dim_hint)));
    tasks.multivector_dim = multivector.and_then(|table| dim(table, Some(dim_hint)));
    tasks.sparse = sparse.map(|table| Sparse { dim: dim(table, None) });
    table.finish();
}

/// The `dim` of one kind of vector; a hint makes it required.
fn dim(mut table: Table<'_>, required: Option<&str>) -> Option<u32> {
    let node = match required {
        Some(hint) => table.need("dim", hint),
        None => table.take("dim"),
    };
    table.finish();
    node.and_then(|node| node.count(1..=MOST_DIM))
}

fn generate(mut table: Table<'_>, tasks: &mut Tasks) {
    let context_length = table.need("context_length", "most tokens of prompt and answer together");
    let max_output_tokens = table.need("max_output_tokens", "most tokens of an answer");
    tasks.context_length = context_length.and_then(|node| node.count(1..=MOST_TOKENS));
    tasks.max_output_tokens = max_output_tokens.as_ref().and_then(|node| node.count(1..=MOST_TOKENS));
    if let (Some(node), Some(output), Some(context)) =
        (max_output_tokens, tasks.max_output_tokens, tasks.context_length)
        && output > context
    {
        node.place.wrong("must not be more than context_length", "an answer is part of its context");
    }
    table.finish();
}
