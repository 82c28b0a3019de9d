//! How do the parts become one digest?

use super::hash::hex;
use sha2::{Digest as _, Sha256};
use spillway_filters::feed::Identity;
use std::collections::BTreeMap;

/// Each part, none where it could not be observed.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) engine: Option<String>,
    pub(super) version: Option<String>,
    pub(super) weights: Option<String>,
    pub(super) tokenizer: Option<String>,
    pub(super) device: Option<String>,
    pub(super) driver: Option<String>,
    pub(super) dtype: Option<String>,
}

impl Parts {
    pub(super) fn identity(self) -> Identity {
        let parts = [
            ("engine", self.engine),
            ("version", self.version),
            ("weights", self.weights),
            ("tokenizer", self.tokenizer),
            ("device", self.device),
            ("driver", self.driver),
            ("dtype", self.dtype),
        ];
        let parts: BTreeMap<_, _> = parts.into_iter().map(|(name, part)| (name.to_owned(), part)).collect();
        Identity { digest: digest(&parts), parts }
    }
}

/// SHA-256 over `name=value` lines in the order of the names. No part has a line end in it.
fn digest(parts: &BTreeMap<String, Option<String>>) -> Option<String> {
    let mut sum = Sha256::new();
    for (name, part) in parts {
        let part = part.as_ref().filter(|part| !part.contains(char::is_control))?;
        sum.update(format!("{name}={part}\n"));
    }
    Some(hex(&sum.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Option<String>> {
        ["e", "v", "w", "t", "d", "r", "f"].map(|text| Some(text.to_owned())).into()
    }

    fn digest_of(mut texts: Vec<Option<String>>) -> Option<String> {
        let mut next = || texts.remove(0);
        let parts = Parts {
            engine: next(),
            version: next(),
            weights: next(),
            tokenizer: next(),
            device: next(),
            driver: next(),
            dtype: next(),
        };
        parts.identity().digest
    }

    /// printf 'device=d\ndriver=r\ndtype=f\nengine=e\ntokenizer=t\nversion=v\nweights=w\n' | sha256sum
    #[test]
    fn the_digest_of_the_same_parts_is_the_same_in_every_version() {
        let wanted = "b34a137522f11851e34fc2a9d9f207b0fdec91b74dd8c926b438c2ebb11e5f81";
        assert_eq!(digest_of(all()).as_deref(), Some(wanted));
    }

    #[test]
    fn one_missing_part_or_one_with_a_line_end_leaves_no_digest() {
        for at in 0..7 {
            let mut texts = all();
            texts[at] = None;
            assert_eq!(digest_of(texts), None, "part {at}");
            let mut texts = all();
            texts[at] = Some("a\nb".into());
            assert_eq!(digest_of(texts), None, "part {at}");
        }
    }

    #[test]
    fn every_part_counts() {
        for at in 0..7 {
            let mut texts = all();
            texts[at] = Some("another".into());
            assert_ne!(digest_of(texts), digest_of(all()), "part {at}");
        }
    }
}
