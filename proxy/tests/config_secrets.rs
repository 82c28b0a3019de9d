//! Where keys come from, and that nothing ever prints one.
#![allow(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]

#[path = "config/support.rs"]
mod support;

use parking_lot::Mutex;
use spillway::config::secret::{CredentialMissing, Credentials};
use spillway::config::{Format, parse, report};
use spillway_policies::upstream::CredentialRef;
use std::sync::Arc;
use support::files;

fn env(name: &str) -> CredentialRef {
    CredentialRef::Env(name.into())
}

/// The key as text, or why there is none.
fn key(credentials: &Credentials) -> Result<Option<String>, CredentialMissing> {
    credentials.bearer().map(|key| key.map(|key| key.expose().to_owned()))
}

#[test]
fn an_upstream_without_a_credential_has_no_key() {
    assert_eq!(key(&Credentials::new(None)), Ok(None));
}

#[test]
fn a_variable_is_read_at_each_call() {
    let value = Arc::new(Mutex::new(None::<&str>));
    let held = Arc::clone(&value);
    let credentials = Credentials::with_env(&env("TEAM_KEY"), move |name| {
        assert_eq!(name, "TEAM_KEY");
        held.lock().map(str::to_owned)
    });
    for (now, expected) in [
        (None, Err(CredentialMissing::Unset)),
        (Some("first"), Ok(Some("first".to_owned()))),
        (Some(" second\n"), Ok(Some("second".to_owned()))),
        (Some(""), Err(CredentialMissing::Empty)),
        (Some(" \t"), Err(CredentialMissing::Empty)),
        (Some("two words"), Err(CredentialMissing::NotVisibleAscii)),
        (Some("line\r\nX-Injected: 1"), Err(CredentialMissing::NotVisibleAscii)),
        (Some("ключ"), Err(CredentialMissing::NotVisibleAscii)),
        (None, Err(CredentialMissing::Unset)),
    ] {
        *value.lock() = now;
        assert_eq!(key(&credentials), expected, "{now:?}");
    }
}

#[test]
fn the_process_has_an_environment() {
    assert_eq!(key(&Credentials::new(&env("CARGO_MANIFEST_DIR"))), Ok(Some(env!("CARGO_MANIFEST_DIR").to_owned())));
    assert_eq!(key(&Credentials::new(&env("SPILLWAY_NO_SUCH_VARIABLE"))), Err(CredentialMissing::Unset));
}

#[test]
fn a_file_is_read_again_when_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let credentials = Credentials::new(&CredentialRef::File(path.to_str().unwrap().into()));
    assert_eq!(key(&credentials), Err(CredentialMissing::Unreadable));
    std::fs::write(&path, "first\n").unwrap();
    assert_eq!(key(&credentials), Ok(Some("first".into())));
    assert_eq!(key(&credentials), Ok(Some("first".into())));
    std::fs::write(&path, "the-second\n").unwrap();
    assert_eq!(key(&credentials), Ok(Some("the-second".into())));
    // Replaced by another file of the same length, as a mounted secret is.
    let other = folder.path().join("other");
    std::fs::write(&other, "the-third!\n").unwrap();
    std::fs::rename(&other, &path).unwrap();
    assert_eq!(key(&credentials), Ok(Some("the-third!".into())));
    std::fs::write(&path, "").unwrap();
    assert_eq!(key(&credentials), Err(CredentialMissing::Empty));
    std::fs::write(&path, [0xff, 0xfe]).unwrap();
    assert_eq!(key(&credentials), Err(CredentialMissing::NotVisibleAscii));
    std::fs::write(&path, "x".repeat(65 * 1024)).unwrap();
    assert_eq!(key(&credentials), Err(CredentialMissing::Unreadable));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(key(&credentials), Err(CredentialMissing::Unreadable));
}

#[test]
fn a_symlink_that_moves_on_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("one"), "aaa").unwrap();
    std::fs::write(at("two"), "bbb").unwrap();
    std::os::unix::fs::symlink(at("one"), at("token")).unwrap();
    let credentials = Credentials::new(&CredentialRef::File(at("token").to_str().unwrap().into()));
    assert_eq!(key(&credentials), Ok(Some("aaa".into())));
    std::os::unix::fs::symlink(at("two"), at("next")).unwrap();
    std::fs::rename(at("next"), at("token")).unwrap();
    assert_eq!(key(&credentials), Ok(Some("bbb".into())));
}

#[test]
fn nothing_prints_a_key_or_the_name_of_its_source() {
    let credentials = Credentials::with_env(&env("CANARY_NAME"), |_| Some("canary".into()));
    let secret = credentials.bearer().unwrap().unwrap();
    let failing = Credentials::with_env(&env("CANARY_NAME"), |_| Some("canary canary".into()));
    let failure = failing.bearer().unwrap_err();
    let unset = Credentials::with_env(&env("CANARY_NAME"), |_| None).bearer().unwrap_err();
    for printed in [
        format!("{secret:?} {credentials:?} {failing:?}"),
        format!("{failure} {failure:?} {unset} {unset:?}"),
        format!("{:?}", env("CANARY_NAME")),
    ] {
        assert!(!printed.to_lowercase().contains("canary"), "{printed}");
    }
}

/// Every value of every file here is replaced, one at a time, by something that must not be repeated.
#[test]
fn no_diagnostic_repeats_a_value() {
    let planted = "canary-7f3a://canary:canary@canary canary";
    let mut judged = 0;
    for path in ["examples", "tests/config/accepted", "tests/config/refused"].into_iter().flat_map(files) {
        let text = std::fs::read_to_string(&path).unwrap();
        for text in with_each_string_replaced(&text, planted) {
            judged += 1;
            let found = match parse("f", &text, &|_| None) {
                Ok(config) => config.warnings,
                Err(found) => found,
            };
            for format in [Format::Human, Format::Json] {
                let report = report(&found, format);
                assert!(!report.contains("canary"), "{}:\n{report}", path.display());
            }
        }
    }
    assert!(judged > 500, "{judged}");
}

/// One text for each string value, and one for each bare value, in every line that is not a comment.
fn with_each_string_replaced(text: &str, planted: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let value_at = line.find('=').filter(|_| !line.starts_with('#')).map_or(line.len(), |at| at + 1);
        let quotes: Vec<_> = line.match_indices('"').map(|(at, _)| at).filter(|at| *at >= value_at).collect();
        for pair in quotes.chunks_exact(2) {
            let (start, end) = (offset + pair[0], offset + pair[1] + 1);
            texts.push(format!("{}\"{planted}\"{}", &text[..start], &text[end..]));
            // The same without its quotes, and without its end: lines that do not parse.
            texts.push(format!("{}{planted}{}", &text[..start], &text[end..]));
            texts.push(format!("{}\"{planted}{}", &text[..start], &text[end..]));
        }
        if quotes.is_empty() && value_at < line.len() {
            texts.push(format!("{} \"{planted}\"\n{}", &text[..offset + value_at], &text[offset + line.len()..]));
        }
        offset += line.len();
    }
    texts
}
