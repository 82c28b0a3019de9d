//! What is the digest of the weights' own files?

use super::hash::{self, hex};
use super::local::Local;
use super::machine::Machine;
use super::place;
use super::started;
use super::stated::Stated;
use super::table::Known;
use sha2::{Digest as _, Sha256};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// `gguf:sha256:…` of the file that the engine says it has loaded; of several shards the SHA-256 over theirs, one a line.
pub(super) async fn of(machine: &Machine, local: &Local, known: &Known, stated: &Stated) -> Option<String> {
    if !stated.is_settled || local.has_any(known.weights_not_with) {
        return None;
    }
    let path = local.resolve(machine, stated.model.as_deref()?)?;
    let started_s = started::at_s(machine, local.listener)?;
    let mut sums = Vec::new();
    for path in shards(path)? {
        let file = path.canonicalize().ok().filter(|file| file.is_file())?;
        let names = [&path, &file].map(|path| machine.own_path(path).display().to_string());
        let was_replaced = names.iter().any(|name| local.mapped.contains(&format!("{name} (deleted)")));
        let is_mapped = names.iter().any(|name| local.mapped.contains(name));
        if was_replaced || !(is_mapped || is_older(&path, &file, started_s)?) {
            return None;
        }
        sums.push(match place::blob(&file) {
            Some(sum) => sum.to_owned(),
            None => hash::file(file).await?,
        });
    }
    match sums.as_slice() {
        [sum] => Some(format!("gguf:sha256:{sum}")),
        sums => Some(format!("gguf:{}:sha256:{}", sums.len(), hex(&Sha256::digest(sums.join("\n"))))),
    }
}

/// All files of a model, of which the engine names the first: `NAME-00001-of-00003.gguf`.
fn shards(first: PathBuf) -> Option<Vec<PathBuf>> {
    let Some((start, count)) = sharded(&first) else { return Some(vec![first]) };
    let folder = first.parent()?;
    Some((1..=count).map(|at| folder.join(format!("{start}-{at:05}-of-{count:05}.gguf"))).collect())
}

fn sharded(path: &Path) -> Option<(&str, u32)> {
    let name = path.file_name()?.to_str()?.strip_suffix(".gguf")?;
    let (rest, count) = name.rsplit_once("-of-").filter(|(_, count)| count.len() == 5)?;
    let start = rest.strip_suffix("-00001")?;
    Some((start, count.parse().ok()?))
}

/// Whether the file, and its name, are as they were when the engine was started: one that does not map its files may have read others since.
fn is_older(named: &Path, file: &Path, started_s: i64) -> Option<bool> {
    let changed_s = |path: &Path| path.symlink_metadata().ok().map(|metadata| metadata.ctime());
    Some(changed_s(named)?.max(changed_s(file)?) < started_s)
}
