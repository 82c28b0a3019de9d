//! What does a place in the hub's cache say of the files in it?

use super::hash::is_hex;
use std::path::Path;

/// The SHA-256 of a large file, which the cache keeps as `models--ORG--NAME/blobs/SHA256`.
pub(super) fn blob(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    let blobs = path.parent()?;
    let in_cache = is_named(blobs, "blobs") && repository(blobs.parent()?).is_some();
    (in_cache && is_hex(name, 64)).then_some(name)
}

/// `ORG/NAME@COMMIT` of a folder `models--ORG--NAME/snapshots/COMMIT`.
pub(super) fn snapshot(path: &Path) -> Option<String> {
    let commit = path.file_name()?.to_str()?;
    let snapshots = path.parent()?;
    let model = repository(snapshots.parent()?)?;
    (is_named(snapshots, "snapshots") && is_hex(commit, 40)).then(|| format!("{model}@{commit}"))
}

fn is_named(path: &Path, name: &str) -> bool {
    path.file_name().is_some_and(|known| known == name)
}

fn repository(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.strip_prefix("models--")?;
    Some(name.replace("--", "/")).filter(|name| is_model(name))
}

/// Whether this can be the name of a model on the hub: `NAME` or `ORG/NAME`.
pub(super) fn is_model(name: &str) -> bool {
    let is_part = |part: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        !part.is_empty() && !part.starts_with('.') && part.bytes().all(allowed)
    };
    name.len() <= 200 && name.split('/').count() <= 2 && name.split('/').all(is_part)
}
