//! What is the SHA-256 of a large file, and of one that was read before?

use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Mutex;

/// How much is read at once: a dropped call is noticed between two of them.
const READ_BYTES: usize = 1024 * 1024;

/// A file as it was when it was read.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    path: PathBuf,
    size: u64,
    device: u64,
    inode: u64,
    changed: (i64, i64),
    modified: (i64, i64),
}

/// What was read since the program runs. Who holds it reads: one file at a time.
static READ: Mutex<BTreeMap<Seen, String>> = Mutex::const_new(BTreeMap::new());

/// The SHA-256 of a file in hexadecimal; none when it cannot be read, or changes meanwhile.
pub(super) async fn file(path: PathBuf) -> Option<String> {
    let mut read = READ.lock().await;
    let dropped = Arc::new(AtomicBool::new(false));
    let _on_drop = SetOnDrop(Arc::clone(&dropped));
    // The lock moves along: a call after a dropped one waits for its end.
    let hashing = tokio::task::spawn_blocking(move || {
        let seen = seen(&path, &std::fs::metadata(&path).ok()?);
        if let Some(known) = read.get(&seen) {
            return Some(known.clone());
        }
        let mut file = File::open(&path).ok()?;
        let sum = sum(&mut file, &dropped).ok()?;
        let unchanged = self::seen(&path, &file.metadata().ok()?) == seen;
        unchanged.then(|| read.entry(seen).or_insert(sum).clone())
    });
    hashing.await.ok().flatten()
}

fn sum(file: &mut File, dropped: &AtomicBool) -> io::Result<String> {
    let mut sum = Sha256::new();
    let mut buffer = vec![0; READ_BYTES];
    loop {
        if dropped.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&sum.finalize())),
            count => sum.update(&buffer[..count]),
        }
    }
}

fn seen(path: &Path, metadata: &Metadata) -> Seen {
    Seen {
        path: path.to_owned(),
        size: metadata.size(),
        device: metadata.dev(),
        inode: metadata.ino(),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
    }
}

struct SetOnDrop(Arc<AtomicBool>);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Bytes in hexadecimal, lower case.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether this is `length` digits in lower-case hexadecimal.
pub(super) fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future as _;
    use std::task::{Context, Waker};
    use std::time::Duration;

    #[tokio::test]
    async fn a_dropped_call_stops_reading_and_lets_the_next_one_read() {
        let folder = tempfile::tempdir().unwrap();
        let (long, short) = (folder.path().join("long"), folder.path().join("short"));
        // Holes: it takes no room, and hours to read.
        File::create(&long).unwrap().set_len(1 << 40).unwrap();
        std::fs::write(&short, "abc").unwrap();
        let mut dropped = Box::pin(file(long));
        assert!(dropped.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(dropped);
        let sum = tokio::time::timeout(Duration::from_secs(60), file(short)).await.unwrap();
        assert_eq!(sum.as_deref(), Some("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
    }

    #[tokio::test]
    async fn what_cannot_be_read_has_no_digest() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(file(folder.path().join("absent")).await, None);
        assert_eq!(file(folder.path().to_owned()).await, None);
    }
}
