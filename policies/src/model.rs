//! What a model name is, and what `model:profile` selects.

use alloc::string::String;

/// The profile that a bare model name means.
pub const DEFAULT_PROFILE: &str = "default";

/// What a call asked for: a model, and perhaps one of its profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selector<'a> {
    /// The name as the caller wrote it, profile suffix included.
    pub written: &'a str,
    /// The name without a `:profile` suffix.
    pub model: &'a str,
    /// The profile named by the suffix or by a string `options.profile`.
    pub profile: Option<&'a str>,
    /// The profile named by `options.profile` alone: what counts when the written name is itself a configured model with a colon in it.
    pub option: Option<&'a str>,
}

impl<'a> Selector<'a> {
    /// Splits a written name at its last colon; `option` is the call's `options.profile`, which wins (contract section 5 item 1).
    #[must_use]
    pub fn parse(written: &'a str, option: Option<&'a str>) -> Self {
        let (model, suffix) = match written.rsplit_once(':') {
            Some((model, suffix)) if !model.is_empty() && !suffix.contains('/') => (model, Some(suffix)),
            _ => (written, None),
        };
        Self { written, model, profile: option.or(suffix), option }
    }
}

/// The upstream's own name for a model: one to four path segments, perhaps with a profile (contract section 4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamModel(String);

impl UpstreamModel {
    /// Checks and keeps a name.
    ///
    /// # Errors
    /// The name is not 1 to 4 segments of `[A-Za-z0-9][A-Za-z0-9._-]{0,127}` with an optional `:profile`.
    pub fn parse(text: &str) -> Result<Self, BadUpstreamModel> {
        let (path, profile) = match text.split_once(':') {
            Some((path, profile)) => (path, Some(profile)),
            None => (text, None),
        };
        let segments = path.split('/').count();
        let well_formed = segments <= 4 && path.split('/').all(is_segment) && profile.is_none_or(is_segment);
        if well_formed { Ok(Self(text.into())) } else { Err(BadUpstreamModel) }
    }

    /// The name as it goes to the upstream.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An upstream's name for a model is not well-formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not 1 to 4 segments of letters, digits, `.`, `_` and `-` joined by `/`, with an optional `:profile`")]
pub struct BadUpstreamModel;

fn is_segment(segment: &str) -> bool {
    let bytes = segment.as_bytes();
    (1..=128).contains(&bytes.len())
        && bytes[0].is_ascii_alphanumeric()
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_names_a_profile_and_options_win() {
        assert_eq!(Selector::parse("org/m", None).profile, None);
        assert_eq!(Selector::parse("org/m:remote", None).profile, Some("remote"));
        assert_eq!(Selector::parse("org/m:remote", None).model, "org/m");
        assert_eq!(Selector::parse("org/m:remote", Some("default")).profile, Some("default"));
        assert_eq!(Selector::parse("host:80/m", None).model, "host:80/m");
        assert_eq!(Selector::parse(":x", None).model, ":x");
    }

    #[test]
    fn upstream_names_keep_the_contracts_form() {
        for good in ["m", "org/name", "a/b/c/d", "org/name:default", "BAAI/bge-m3"] {
            assert!(UpstreamModel::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "a/b/c/d/e", "a//b", "/a", "a/", "-a", "a b", "a:", "a:b:c", "a/../b", "a?b"] {
            assert!(UpstreamModel::parse(bad).is_err(), "{bad}");
        }
    }
}
