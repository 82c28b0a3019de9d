//! Where are this machine's files, and how are they read?

use std::io;
use std::path::{Path, PathBuf};

/// A machine as its files show it.
#[derive(Debug)]
pub struct Machine {
    root: PathBuf,
    shim: i32,
}

impl Machine {
    /// The machine that this program runs on.
    #[must_use]
    pub fn this() -> Self {
        Self::at("/".into(), std::process::id().cast_signed())
    }

    /// The machine whose files are below `root`, where the shim is the process `shim`.
    #[must_use]
    pub const fn at(root: PathBuf, shim: i32) -> Self {
        Self { root, shim }
    }

    /// The id of the shim's own process.
    pub(super) const fn shim(&self) -> i32 {
        self.shim
    }

    /// Where an absolute path of the machine is.
    pub(super) fn path(&self, absolute: impl AsRef<Path>) -> PathBuf {
        let absolute = absolute.as_ref();
        self.root.join(absolute.strip_prefix("/").unwrap_or(absolute))
    }

    /// The path of a file as the machine's own processes have it.
    pub(super) fn own_path(&self, file: &Path) -> PathBuf {
        Path::new("/").join(file.strip_prefix(&self.root).unwrap_or(file))
    }

    /// A small file as text; other bytes become replacement characters.
    pub(super) fn text(&self, absolute: impl AsRef<Path>) -> io::Result<String> {
        let bytes = std::fs::read(self.path(absolute))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// What a process' link says: `cwd`, `root`, `ns/mnt`.
    pub(super) fn link(&self, process: i32, name: &str) -> io::Result<PathBuf> {
        std::fs::read_link(self.path(format!("/proc/{process}/{name}")))
    }
}
