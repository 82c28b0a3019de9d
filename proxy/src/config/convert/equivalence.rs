//! `equivalence`: where an OpenAI upstream's proofs of equal vectors lie, and how old they may be (contract section 4).

use crate::config::table::Node;
use std::path::Path;

const MOST_AGE_S: u64 = 604_800;
const MOST_RECORDS: usize = 256;
const MOST_MODEL_CHARS: usize = 256;
const MOST_PATH_CHARS: usize = 4096;

/// Checks it. Nothing in this version reads the records.
pub(super) fn check(node: &Node<'_>) {
    let Some(mut table) = node.table() else { return };
    if let Some(age) = table.need("max_age_s", "how old a record may be, in whole seconds") {
        age.whole(1..=MOST_AGE_S);
    }
    let records = table
        .need("record_files", "one file for each model: record_files = { \"org/model\" = \"/path/of/record.json\" }");
    if let Some(records) = records.and_then(|node| Some((node.table()?, node))) {
        check_records(records.0.each(), &records.1);
    }
    table.finish();
}

fn check_records(records: Vec<(&str, Node<'_>)>, node: &Node<'_>) {
    if !(1..=MOST_RECORDS).contains(&records.len()) {
        node.place.wrong(format!("must name 1 to {MOST_RECORDS} files"), "");
    }
    for (model, file) in records {
        if !(1..=MOST_MODEL_CHARS).contains(&model.chars().count()) {
            file.name.wrong(format!("a model's name must have 1 to {MOST_MODEL_CHARS} characters"), "");
        }
        let fits = |path: &str| Path::new(path).is_absolute() && path.chars().count() <= MOST_PATH_CHARS;
        if file.text().is_some_and(|path| !fits(path)) {
            file.place.wrong(format!("must be an absolute path of at most {MOST_PATH_CHARS} characters"), "");
        }
    }
}
