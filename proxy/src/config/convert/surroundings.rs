//! What conversion may look at outside the files: the environment, and whether a file is there.

use crate::config::table::{Node, Place};
use std::path::{Path, PathBuf};

/// The operator's machine, as far as a configuration depends on it.
pub(crate) struct Surroundings<'e> {
    /// Reads an environment variable.
    pub(crate) env: &'e dyn Fn(&str) -> Option<String>,
    /// The folder that relative paths start from: the deployment file's own.
    pub(crate) folder: PathBuf,
    /// Whether files may be looked for. Not when a text is judged apart from a machine.
    pub(crate) looks_for_files: bool,
}

impl Surroundings<'_> {
    /// The path of a file that is read later. That it is not there yet is worth a warning only: it may be mounted later, or elsewhere.
    pub(super) fn file(&self, node: &Node<'_>) -> Option<PathBuf> {
        let path = self.path(node)?;
        if self.looks_for_files && !path.is_file() {
            node.place.warn("names a file that is not there now", "it must be there when Spillway runs");
        }
        Some(path)
    }

    /// [`Surroundings::file`] as the text that policies hold.
    pub(super) fn file_text(&self, node: &Node<'_>) -> Option<String> {
        let path = self.file(node)?;
        let text = path.into_os_string().into_string().ok();
        if text.is_none() {
            node.place.wrong("lies in a folder whose name is not UTF-8", "write an absolute path");
        }
        text
    }

    /// The text of a file that is read now; none, and nothing noted, where files may not be looked for.
    pub(super) fn contents(&self, node: &Node<'_>, most_bytes: usize) -> Option<String> {
        let path = self.path(node)?;
        if !self.looks_for_files {
            return None;
        }
        let fits = std::fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() <= most_bytes as u64);
        let text = fits.then(|| std::fs::read_to_string(&path).ok()).flatten();
        if text.is_none() {
            node.place.wrong(
                format!("must name a readable UTF-8 file of at most {} MiB", most_bytes / 1024 / 1024),
                "a relative path starts from the deployment file's folder",
            );
        }
        text
    }

    /// A path as meant: relative to the deployment file.
    pub(super) fn path(&self, node: &Node<'_>) -> Option<PathBuf> {
        let text = node.text()?;
        if text.trim().is_empty() || text.contains('\0') {
            node.place.wrong("must be the path of a file", "");
            return None;
        }
        Some(self.folder.join(Path::new(text)))
    }

    /// Warns about an environment variable that is not set. The name is not repeated: it may be the key itself, pasted in the wrong place.
    pub(super) fn expect_variable(&self, name: &str, place: &Place<'_>) {
        if (self.env)(name).is_some_and(|value| !value.trim().is_empty()) {
            return;
        }
        let hint = if looks_like_a_key(name) {
            "this looks like the key itself: put the key into a variable, and write the variable's name here"
        } else {
            "set it where Spillway runs; until then every attempt at this upstream fails before anything is sent"
        };
        place.warn("names an environment variable that is not set", hint);
    }
}

/// Whether a well-formed variable name is more likely a secret: long, with digits and lower-case letters mixed in.
fn looks_like_a_key(name: &str) -> bool {
    let has = |wanted: fn(&u8) -> bool| name.as_bytes().iter().any(wanted);
    name.len() >= 20 && has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase)
}
