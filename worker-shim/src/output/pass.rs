//! How do the engine's bytes come out of the shim?

use super::Output;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, ErrorKind, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;
use tokio::sync::mpsc;

/// How much is read at once, in bytes.
const CHUNK: usize = 16 * 1024;

/// Enough for a loop that calls little; the default of 2 MiB is not.
const STACK: usize = 128 * 1024;

/// Where a program writes to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

impl Output {
    /// A pipe whose bytes come out of this program's own stream of that kind. A thread of its own carries them, so that a full pipe on our
    /// side holds the engine up as it would without us, and nothing else. It ends, and drops `open`, when nobody can write any more.
    pub(crate) fn passing(self: &Arc<Self>, stream: Stream, open: mpsc::Sender<Infallible>) -> io::Result<PipeWriter> {
        let (from, writer) = io::pipe()?;
        let (name, own) = match stream {
            Stream::Stdout => ("engine-stdout", io::stdout().as_fd().try_clone_to_owned()?),
            Stream::Stderr => ("engine-stderr", io::stderr().as_fd().try_clone_to_owned()?),
        };
        let output = self.clone();
        thread::Builder::new().name(name.into()).stack_size(STACK).spawn(move || {
            output.pass(stream, from, File::from(own));
            drop(open);
        })?;
        Ok(writer)
    }

    /// Passes on what comes until it ends, and keeps the last of it.
    pub(super) fn pass(&self, stream: Stream, mut from: impl Read, mut to: impl Write + AsFd) {
        let mut chunk = vec![0; CHUNK];
        loop {
            match from.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => {
                    // When nobody reads us any more or the disk is full, the engine goes on all the same: what it wrote is dropped.
                    let _ = write(&mut to, &chunk[..count]);
                    self.keep(stream, &chunk[..count]);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        self.end(stream);
    }
}

/// Writes all of it, also to a stream that somebody we share it with has made non-blocking.
fn write(to: &mut (impl Write + AsFd), mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match to.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                // An interruption only means one more try.
                let _ = poll(&mut [PollFd::new(to.as_fd(), PollFlags::POLLOUT)], PollTimeout::NONE);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
