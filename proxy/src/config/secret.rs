//! Where a key enters: read from its variable or file at each use, held by nothing else, printed by nothing.

use parking_lot::Mutex;
use secrecy::{ExposeSecret, SecretString};
use spillway_policies::upstream::CredentialRef;
use std::fmt;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Longest file that is read for a key.
const MOST_KEY_BYTES: u64 = 64 * 1024;

/// A key. Prints as nothing, and is wiped when the last holder lets go of it.
#[derive(Clone)]
pub struct Secret(Arc<SecretString>);

impl Secret {
    /// The key itself, for the one header that carries it.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// An upstream's key cannot be used now. Nothing is sent. Neither the key nor the name of its source is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialMissing {
    /// The environment variable is not set, or not text.
    #[error("the environment variable that api_key_secret names is not set")]
    Unset,
    /// The file cannot be read, or is far too large.
    #[error("the file that api_key_file names cannot be read")]
    Unreadable,
    /// Nothing but white space.
    #[error("the key is empty")]
    Empty,
    /// Something a header cannot hold.
    #[error("the key has characters other than visible ASCII")]
    NotVisibleAscii,
}

/// Where one upstream's key comes from.
pub struct Credentials(Source);

type Env = dyn Fn(&str) -> Option<String> + Send + Sync;

enum Source {
    Nowhere,
    Env { name: String, env: Box<Env> },
    File { path: PathBuf, last: Mutex<Option<Seen>> },
}

/// A file as it was when it was read last.
struct Seen {
    stamp: Stamp,
    read: Result<Secret, CredentialMissing>,
}

/// What changes when a file is written or replaced.
#[derive(PartialEq, Eq)]
struct Stamp {
    inode: (u64, u64),
    len: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self { inode: (metadata.dev(), metadata.ino()), len: metadata.len(), modified: metadata.modified().ok() }
    }
}

impl Credentials {
    /// Reads from the process's own environment or file system. An upstream without a credential has none to read.
    #[must_use]
    pub fn new<'a>(reference: impl Into<Option<&'a CredentialRef>>) -> Self {
        Self::with_env(reference, |name| std::env::var(name).ok())
    }

    /// [`Credentials::new`] with another environment.
    #[must_use]
    pub fn with_env<'a>(
        reference: impl Into<Option<&'a CredentialRef>>,
        env: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self(match reference.into() {
            None => Source::Nowhere,
            Some(CredentialRef::Env(name)) => Source::Env { name: name.clone(), env: Box::new(env) },
            Some(CredentialRef::File(path)) => Source::File { path: path.into(), last: Mutex::new(None) },
        })
    }

    /// The key as it is now, without white space around it; none when the upstream needs none. A variable is read at each call, a
    /// file when it has changed.
    ///
    /// # Errors
    /// There should be a key and there is none that can be sent.
    pub fn bearer(&self) -> Result<Option<Secret>, CredentialMissing> {
        match &self.0 {
            Source::Nowhere => Ok(None),
            Source::Env { name, env } => {
                let value = SecretString::from(env(name).ok_or(CredentialMissing::Unset)?);
                usable(value.expose_secret()).map(Some)
            }
            Source::File { path, last } => {
                let mut last = last.lock();
                let stamp = Stamp::of(&std::fs::metadata(path).map_err(|_| CredentialMissing::Unreadable)?);
                if last.as_ref().is_none_or(|seen| seen.stamp != stamp) {
                    *last = Some(Seen { stamp, read: read(path) });
                }
                last.as_ref().map(|seen| seen.read.clone()).transpose()
            }
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Source::Nowhere => "Credentials(none)",
            Source::Env { .. } => "Credentials(env)",
            Source::File { .. } => "Credentials(file)",
        })
    }
}

fn read(path: &Path) -> Result<Secret, CredentialMissing> {
    let unreadable = |_| CredentialMissing::Unreadable;
    let mut file = File::open(path).map_err(unreadable)?.take(MOST_KEY_BYTES + 1);
    let mut text = String::new();
    let read = file.read_to_string(&mut text);
    let text = SecretString::from(text);
    match read {
        Ok(len) if len as u64 <= MOST_KEY_BYTES => usable(text.expose_secret()),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => Err(CredentialMissing::NotVisibleAscii),
        Ok(_) | Err(_) => Err(CredentialMissing::Unreadable),
    }
}

fn usable(text: &str) -> Result<Secret, CredentialMissing> {
    match text.trim() {
        "" => Err(CredentialMissing::Empty),
        key if key.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(Secret(Arc::new(SecretString::from(key)))),
        _ => Err(CredentialMissing::NotVisibleAscii),
    }
}
