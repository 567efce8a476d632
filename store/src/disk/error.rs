//! Why a store does not open.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

/// Why a directory was not opened as a store. Nothing that was in it has been changed, but for an upgrade that was cut short.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is something else.
    #[error("{} is not a store: {what}; name an empty directory, or the right one", path.display())]
    NotAStore {
        /// Where.
        path: PathBuf,
        /// What is there instead.
        what: String,
    },
    /// Written by a later version of this library.
    #[error("{} has format {found}, and this version reads up to {newest}: open it with a newer version", path.display())]
    NewerFormat {
        /// Which file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format that can be read.
        newest: u32,
    },
    /// Bytes are not what was written, or are missing. What was acknowledged cannot be had back from this directory alone.
    #[error("{} is damaged at byte {offset}: {what}; restore a snapshot into another directory, or mend the disk and copy the file again", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// Another process has it open.
    #[error("{} is open in another process: stop that one, or name another directory", path.display())]
    InUse {
        /// Which directory.
        path: PathBuf,
    },
    /// It cannot be written.
    #[error("{} cannot be written: {source}; a store needs a directory that it may write to", path.display())]
    ReadOnly {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// The disk is full.
    #[error("there is no room for {}: {source}; free some, and open it again", path.display())]
    Full {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// The system refused something else.
    #[error("{doing} {} failed: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system said.
        source: Arc<io::Error>,
    },
}

impl OpenError {
    /// What `error` means for who opens a store.
    pub(crate) fn of(doing: &'static str, path: impl AsRef<Path>, error: io::Error) -> Self {
        let path = path.as_ref().to_path_buf();
        let kind = error.kind();
        let source = Arc::new(error);
        match kind {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { path, source },
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                Self::ReadOnly { path, source }
            }
            io::ErrorKind::NotADirectory => Self::NotAStore { path, what: "it is no directory".into() },
            _ => Self::Io { doing, path, source },
        }
    }

    pub(crate) fn damaged(path: PathBuf, offset: u64, what: impl Into<String>) -> Self {
        Self::Damaged { path, offset, what: what.into() }
    }
}
