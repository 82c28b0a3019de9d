//! Where does the shim listen, and who may reach it?

use crate::config::Address;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener, UnixSocket};

/// Connections that wait to be accepted.
const BACKLOG: u32 = 128;

/// The folder of a socket can be looked into; the socket itself says who may connect.
const FOLDER_MODE: u32 = 0o755;

/// Nobody else can hold the lock.
const LOCK_MODE: u32 = 0o600;

/// A bound socket.
pub(super) enum Listener {
    Tcp(TcpListener),
    /// The file goes before the listener that holds it: see [`SocketFile`].
    Unix(SocketFile, UnixListener),
}

/// One accepted connection.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

impl Listener {
    pub(super) fn bind(address: &Address, mode: u32) -> io::Result<Self> {
        match address {
            Address::Tcp(text) => tcp(text).map(Self::Tcp),
            Address::Unix(path) => unix(path, mode),
        }
    }

    pub(super) fn address(&self) -> Address {
        match self {
            Self::Tcp(listener) => {
                Address::Tcp(listener.local_addr().map_or_else(|_| String::new(), |at| at.to_string()))
            }
            Self::Unix(file, _) => Address::Unix(file.path.clone()),
        }
    }

    /// Whether a page in a browser on this machine can connect.
    pub(super) const fn is_open_to_pages(&self) -> bool {
        matches!(self, Self::Tcp(_))
    }

    pub(super) async fn accept(&self) -> io::Result<Box<dyn Stream>> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                // An event is sent when it happens.
                stream.set_nodelay(true)?;
                Ok(Box::new(stream))
            }
            Self::Unix(_, listener) => Ok(Box::new(listener.accept().await?.0)),
        }
    }
}

fn tcp(text: &str) -> io::Result<TcpListener> {
    let listener = std::net::TcpListener::bind(loopback(text)?)?;
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

/// The address, if nobody on another machine can reach it.
pub(crate) fn loopback(text: &str) -> io::Result<SocketAddr> {
    let local = text.strip_prefix("localhost:").map(|port| format!("{}:{port}", Ipv4Addr::LOCALHOST));
    let address = local.as_deref().unwrap_or(text).parse::<SocketAddr>();
    address.ok().filter(|address| address.ip().is_loopback()).ok_or_else(|| {
        io::Error::new(
            ErrorKind::InvalidInput,
            "it is not a loopback address, and whoever reaches the shim can load models and put them to sleep; \
             take 127.0.0.1 or a Unix socket",
        )
    })
}

fn unix(path: &Path, mode: u32) -> io::Result<Listener> {
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)?;
    }
    let lock = lock(path)?;
    remove_stale(path)?;
    let socket = UnixSocket::new_stream()?;
    socket.bind(path)?;
    let file = SocketFile::of(path, lock)?;
    // Before it listens: nobody connects while the mode is another.
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    Ok(Listener::Unix(file, socket.listen(BACKLOG)?))
}

/// Two that start at once would take each other's file for a stale one. The lock's own file stays: without a holder it is in nobody's way.
fn lock(path: &Path) -> io::Result<File> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let name = PathBuf::from(name);
    let lock = File::options().create(true).append(true).mode(LOCK_MODE).open(&name).map_err(|error| {
        // Left by a shim that ran as somebody else. Where there is no such file, the folder is what cannot be written.
        let is_anothers = error.kind() == ErrorKind::PermissionDenied && name.exists();
        let text = || format!("{} belongs to another user, who ran a shim here: remove it", name.display());
        if is_anothers { io::Error::other(text()) } else { error }
    })?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(taken()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn taken() -> io::Error {
    io::Error::new(ErrorKind::AddrInUse, "somebody answers there: is another shim running?")
}

/// A socket file that nobody listens on is left over from a process that is gone.
fn remove_stale(path: &Path) -> io::Result<()> {
    let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(()) };
    if !metadata.file_type().is_socket() {
        return Err(io::Error::new(ErrorKind::AlreadyExists, "a file that is no socket has this name"));
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Ok(_) => Err(taken()),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) => Err(error),
    }
}

/// The file of our socket. It is removed with us, unless somebody else has put another in its place.
///
/// The number of its inode tells which one it is: as long as our socket is open, that number is given to no other file. So the file must be
/// dropped before its listener.
pub(super) struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
    /// Until the file is removed.
    _lock: File,
}

impl SocketFile {
    fn of(path: &Path, lock: File) -> io::Result<Self> {
        let metadata = fs::symlink_metadata(path)?;
        Ok(Self { path: path.to_owned(), device: metadata.dev(), inode: metadata.ino(), _lock: lock })
    }

    fn is_ours(&self) -> bool {
        fs::symlink_metadata(&self.path)
            .is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == (self.device, self.inode))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if self.is_ours() {
            // It stays when its folder is no longer ours to write; the next start replaces it.
            let _ = fs::remove_file(&self.path);
        }
    }
}
