//! Errors of opening a store.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

/// An error of opening a directory as a store. It leaves the files unchanged, except for an
/// interrupted upgrade.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The path holds something else.
    #[error("{} is not a store: {what}; name an empty directory, or the right one", path.display())]
    NotAStore {
        /// The path.
        path: PathBuf,
        /// The kind of content found instead.
        what: String,
    },
    /// A later version of this library wrote the file.
    #[error("{} has format {found}, and this version reads up to {newest}: open it with a newer version", path.display())]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// The format of the file.
        found: u32,
        /// The newest supported format.
        newest: u32,
    },
    /// A file is corrupt, truncated or missing. This directory alone cannot restore all
    /// acknowledged commits.
    #[error("{} is damaged at byte {offset}: {what}; restore a snapshot into another directory, or mend the disk and copy the file again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The offset in the file.
        offset: u64,
        /// The damage.
        what: String,
    },
    /// Another process has the store open.
    #[error("{} is open in another process: stop that one, or name another directory", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// The directory or a file is not writable.
    #[error("{} cannot be written: {source}; a store needs a directory that it may write to", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: Arc<io::Error>,
    },
    /// The disk is full.
    #[error("there is no room for {}: {source}; free some, and open it again", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: Arc<io::Error>,
    },
    /// Another I/O error.
    #[error("{doing} {} failed: {source}", path.display())]
    Io {
        /// The operation that failed.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: Arc<io::Error>,
    },
}

impl OpenError {
    /// Classifies an I/O error.
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
