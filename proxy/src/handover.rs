//! How do the listening sockets of a running sidecar pass to the process that replaces it, so that no connection is refused meanwhile?
//!
//! The new process waits at a Unix socket that only its own user may open. The old one connects, sends its listening sockets with the names
//! they have in the configuration, and stays until the new one says that it serves. Then the old one alone decides, and says what: it
//! leaves, or it had stopped waiting, goes on as before, and the new one has to leave. Between the two words both serve, so there is always
//! somebody who does. An old one that ends without a word is gone: the new one serves on.

use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Interest};
use tokio::net::{UnixListener, UnixStream};

/// How long the old process looks for the new one, and how long the new one may take to serve.
const PATIENCE: Duration = Duration::from_secs(10);
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// What the new process says once it serves.
const SERVING: u8 = b'+';
/// What the old process says to that.
const LEAVING: u8 = b'!';
/// What the old process says when it has stopped waiting, which the new one may hear late.
const GOING_ON: u8 = b'-';
/// Most bytes of names, and most sockets, in one hand-over: there are two listeners.
const MOST_BYTES: usize = 16 * 1024;
const MOST_SOCKETS: usize = 8;

/// One listening socket and which one it is.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Listening {
    /// The key of the configuration that asked for it.
    key: String,
    /// The address as the configuration has it: a new process that asks for another one binds its own.
    asked: String,
    /// Where callers find it.
    pub(crate) bound: String,
    /// Its number in this process.
    #[serde(skip)]
    pub(crate) socket: RawFd,
}

impl Listening {
    pub(crate) fn new(key: &str, asked: String, bound: String, socket: RawFd) -> Self {
        Self { key: key.to_owned(), asked, bound, socket }
    }
}

/// What a process starts with: nothing, or the sockets of its predecessor. Those that nobody takes are closed with it.
#[derive(Debug, Default)]
pub struct Inherited {
    sockets: Vec<Listening>,
    predecessor: Option<UnixStream>,
}

impl Inherited {
    /// The socket that this key asks for.
    pub(crate) fn take(&mut self, key: &str, asked: &str) -> Option<Listening> {
        let at = self.sockets.iter().position(|socket| socket.key == key && socket.asked == asked)?;
        Some(self.sockets.swap_remove(at))
    }

    /// Whether the predecessor has stopped waiting already: it serves, and this process must not begin to.
    #[must_use]
    pub fn is_called_off(&self) -> bool {
        let mut said = [0];
        let word = self.predecessor.as_ref().map(|predecessor| predecessor.try_read(&mut said));
        matches!(word, Some(Ok(1)))
    }

    /// Tells the predecessor that this process serves, and hears what that one does: true when it leaves or is gone, false when it goes on
    /// and this process has to leave. Ended before it is heard, the predecessor goes on.
    ///
    /// There is no limit: a predecessor that neither answers nor ends has stopped, and serves nobody meanwhile.
    pub async fn confirm(mut self) -> bool {
        let predecessor = self.predecessor.take();
        // What nobody took closes now.
        drop(self);
        let Some(mut predecessor) = predecessor else { return true };
        // When it does not listen any more, what it said before is still to be read.
        let _ = predecessor.write_all(&[SERVING]).await;
        let mut said = [0];
        !matches!(predecessor.read(&mut said).await, Ok(1) if said == [GOING_ON])
    }
}

impl Drop for Inherited {
    fn drop(&mut self) {
        for listening in self.sockets.drain(..) {
            // A socket without an acceptor would swallow connections. One that cannot be closed is gone.
            let _ = nix::unistd::close(listening.socket);
        }
    }
}

/// Where the predecessor is waited for. Its file goes with it: the next hand-over makes its own.
#[derive(Debug)]
pub struct Meeting<'p> {
    listener: UnixListener,
    path: &'p Path,
    file: Option<(u64, u64)>,
}

impl Meeting<'_> {
    /// Waits for the running process and takes its listening sockets.
    ///
    /// # Errors
    /// What the system says.
    pub async fn inherit(self) -> io::Result<Inherited> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            match take_from(stream).await {
                Ok(inherited) => return Ok(inherited),
                Err(error) => tracing::warn!(%error, "somebody connected who hands nothing over"),
            }
        }
    }
}

impl Drop for Meeting<'_> {
    fn drop(&mut self) {
        // Another process that waits there now has put its own file in this one's place.
        if self.file.is_some() && identity(self.path) == self.file {
            let _ = std::fs::remove_file(self.path);
        }
    }
}

/// Which file this is: its device and its number there, which nobody else gets while its listener is open.
fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::symlink_metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Listens at `path` for the running process. The file appears there only with the permissions it is to have.
///
/// # Errors
/// `path` cannot be listened on, or is a file of another kind.
pub fn wait_at(path: &Path) -> io::Result<Meeting<'_>> {
    if std::fs::symlink_metadata(path).is_ok() && !crate::run::is_socket(path) {
        return Err(ErrorKind::AlreadyExists.into());
    }
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}", std::process::id()));
    let draft = PathBuf::from(draft);
    let listener = UnixListener::bind(&draft)?;
    let file = identity(&draft);
    let owned = std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o600));
    if let Err(error) = owned.and_then(|()| std::fs::rename(&draft, path)) {
        let _ = std::fs::remove_file(&draft);
        return Err(error);
    }
    Ok(Meeting { listener, path, file })
}

async fn take_from(stream: UnixStream) -> io::Result<Inherited> {
    trust(&stream)?;
    let mut names = vec![0; MOST_BYTES];
    let mut space = nix::cmsg_space!([RawFd; MOST_SOCKETS]);
    let read = stream.async_io(Interest::READABLE, || {
        let mut parts = [IoSliceMut::new(&mut names)];
        let message = recvmsg::<()>(stream.as_raw_fd(), &mut parts, Some(&mut space), MsgFlags::empty())?;
        let rights = |control| match control {
            ControlMessageOwned::ScmRights(numbers) => numbers,
            _ => Vec::new(),
        };
        Ok((message.bytes, message.cmsgs()?.flat_map(rights).collect::<Vec<RawFd>>()))
    });
    let (length, numbers) = tokio::time::timeout(PATIENCE, read).await??;
    let sockets: Vec<Listening> = serde_json::from_slice(&names[..length]).unwrap_or_default();
    if sockets.is_empty() || sockets.len() != numbers.len() {
        for number in numbers {
            let _ = nix::unistd::close(number);
        }
        return Err(ErrorKind::InvalidData.into());
    }
    let sockets = sockets.into_iter().zip(numbers).map(|(listening, socket)| Listening { socket, ..listening });
    Ok(Inherited { sockets: sockets.collect(), predecessor: Some(stream) })
}

/// Hands `sockets` to the process that waits at `path`, and returns when that one serves and has been told that this one leaves.
///
/// Ended before it returns, it has said nothing, and the process at `path` serves on: for a process that ends anyway.
///
/// # Errors
/// Nobody waits there, or it did not come to serve: this process has to go on. The other one has been told, should it come late.
pub async fn give(path: &Path, sockets: &[Listening]) -> io::Result<()> {
    let mut stream = tokio::time::timeout(PATIENCE, find(path)).await?;
    trust(&stream)?;
    let agreed = agree(&mut stream, sockets).await;
    if agreed.is_err() {
        // One that is gone needs no word.
        let _ = stream.write_all(&[GOING_ON]).await;
    }
    agreed
}

async fn agree(stream: &mut UnixStream, sockets: &[Listening]) -> io::Result<()> {
    send(stream, sockets).await?;
    let mut answer = [0];
    tokio::time::timeout(PATIENCE, stream.read_exact(&mut answer)).await??;
    if answer != [SERVING] {
        return Err(ErrorKind::InvalidData.into());
    }
    // It fails when the new process is gone since. With this word that one has taken the place.
    stream.write_all(&[LEAVING]).await
}

async fn send(stream: &UnixStream, sockets: &[Listening]) -> io::Result<()> {
    let names = serde_json::to_vec(sockets)?;
    let numbers: Vec<RawFd> = sockets.iter().map(|listening| listening.socket).collect();
    let send = || {
        let (parts, rights) = ([IoSlice::new(&names)], [ControlMessage::ScmRights(&numbers)]);
        Ok(sendmsg::<()>(stream.as_raw_fd(), &parts, &rights, MsgFlags::empty(), None)?)
    };
    let whole = stream.async_io(Interest::WRITABLE, send).await? == names.len();
    if whole { Ok(()) } else { Err(ErrorKind::WriteZero.into()) }
}

/// Connects as soon as somebody waits there: the new process may have been started a moment ago.
async fn find(path: &Path) -> UnixStream {
    loop {
        match UnixStream::connect(path).await {
            Ok(stream) => return stream,
            Err(_) => tokio::time::sleep(BETWEEN_LOOKS).await,
        }
    }
}

/// Only a process of the same user is handed anything, or believed.
fn trust(stream: &UnixStream) -> io::Result<()> {
    let same = stream.peer_cred()?.uid() == nix::unistd::geteuid().as_raw();
    if same { Ok(()) } else { Err(ErrorKind::PermissionDenied.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(key: &str) -> (std::net::TcpListener, Listening) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let listening = Listening::new(key, "127.0.0.1:0".to_owned(), address, listener.as_raw_fd());
        (listener, listening)
    }

    #[tokio::test]
    async fn sockets_pass_by_name_and_those_that_nobody_takes_close() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("upgrade.sock");
        let (front, admin) = (bound("listen.address"), bound("admin.address"));
        let (given, received) = tokio::join!(
            async {
                let given = give(&path, &[front.1.clone(), admin.1.clone()]).await;
                // The predecessor leaves: what it had is with the other side alone.
                drop((front.0, admin.0));
                given
            },
            async {
                let mut received = wait_at(&path).unwrap().inherit().await.unwrap();
                assert!(received.take("listen.address", "127.0.0.1:8080").is_none());
                let taken = received.take("listen.address", "127.0.0.1:0").unwrap();
                assert!(received.take("listen.address", "127.0.0.1:0").is_none());
                assert!(!received.is_called_off());
                assert!(received.confirm().await);
                taken
            },
        );
        given.unwrap();
        assert_eq!(received.bound, front.1.bound);
        assert!(std::net::TcpStream::connect(&front.1.bound).is_ok());
        assert!(std::net::TcpStream::connect(&admin.1.bound).is_err());
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_successor_that_does_not_come_to_serve_takes_nothing_over() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("upgrade.sock");
        let front = bound("listen.address");
        let (given, ()) = tokio::join!(give(&path, std::slice::from_ref(&front.1)), async {
            drop(wait_at(&path).unwrap().inherit().await.unwrap());
        });
        assert!(given.is_err());
        assert!(std::net::TcpStream::connect(&front.1.bound).is_ok());
    }

    /// What a successor hears whose predecessor has sent its sockets and then says this, and no more.
    async fn after(word: &[u8]) -> Inherited {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("upgrade.sock");
        let front = bound("listen.address");
        let predecessor = async {
            let mut stream = find(&path).await;
            send(&stream, std::slice::from_ref(&front.1)).await.unwrap();
            stream.write_all(word).await.unwrap();
        };
        tokio::join!(wait_at(&path).unwrap().inherit(), predecessor).0.unwrap()
    }

    #[tokio::test]
    async fn a_successor_that_comes_late_leaves_the_place() {
        let late = after(&[GOING_ON]).await;
        assert!(late.is_called_off());
        assert!(!after(&[GOING_ON]).await.confirm().await, "nor does it stay when it hears so once it serves");
    }

    #[tokio::test]
    async fn a_predecessor_that_ends_without_a_word_is_followed() {
        let inherited = after(&[]).await;
        assert!(!inherited.is_called_off());
        assert!(inherited.confirm().await);
    }

    #[tokio::test]
    async fn a_predecessor_goes_on_unless_its_last_word_is_heard_and_says_so_to_who_is_there() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("upgrade.sock");
        let front = bound("listen.address");
        let sockets = std::slice::from_ref(&front.1);
        let (given, ()) = tokio::join!(give(&path, sockets), async {
            let mut stream = wait_at(&path).unwrap().inherit().await.unwrap().predecessor.take().unwrap();
            stream.write_all(&[SERVING]).await.unwrap();
        });
        assert!(given.is_err(), "the successor was gone when it was to be told");
        let (given, said) = tokio::join!(give(&path, sockets), async {
            let mut stream = wait_at(&path).unwrap().inherit().await.unwrap().predecessor.take().unwrap();
            stream.write_all(b"?").await.unwrap();
            stream.read_u8().await.unwrap()
        });
        assert!(given.is_err());
        assert_eq!(said, GOING_ON);
    }

    #[tokio::test]
    async fn the_meeting_place_goes_with_who_waits_there_and_not_with_another() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("upgrade.sock");
        let first = wait_at(&path).unwrap();
        let second = wait_at(&path).unwrap();
        drop(first);
        assert!(path.exists(), "this one is of the second");
        drop(second);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn only_the_owner_may_connect_and_a_file_of_another_kind_is_left_alone() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("upgrade.sock");
        let meeting = wait_at(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        drop(meeting);
        drop(UnixListener::bind(&path).unwrap());
        assert!(wait_at(&path).is_ok(), "a socket that is left over is replaced");
        let other = room.path().join("spillway.toml");
        std::fs::write(&other, "kept").unwrap();
        assert_eq!(wait_at(&other).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&other).unwrap(), b"kept");
    }
}
