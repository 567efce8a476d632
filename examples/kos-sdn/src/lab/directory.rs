//! The directory of a lab, and its lock.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::LabError;
use super::journal::Journal;

/// Returns the path of the file lock in a lab's directory.
pub(super) fn lock_path(directory: &Path) -> PathBuf {
    directory.join("lock")
}

/// Takes the lock of a directory that exists.
pub(super) fn lock(directory: &Path) -> Result<File, LabError> {
    let path = lock_path(directory);
    let file = File::create(&path).map_err(LabError::io("creating", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(LabError::Busy { directory: directory.into() }),
        Err(TryLockError::Error(error)) => Err(LabError::io("locking", &path)(error)),
    }
}

/// Creates the directory, checks that nothing else is in it, and takes its lock.
pub(super) fn prepare_directory(directory: &Path) -> Result<File, LabError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(directory)
        .map_err(LabError::io("creating", directory))?;
    let is_lock = |entry: &fs::DirEntry| entry.path() == lock_path(directory);
    let entries = || fs::read_dir(directory).map_err(LabError::io("reading", directory));
    if Journal::path(directory).exists() {
        return Err(LabError::Exists { directory: directory.into() });
    }
    if entries()?.flatten().any(|entry| !is_lock(&entry)) {
        return Err(LabError::NotEmpty { directory: directory.into() });
    }
    lock(directory)
}

/// Creates a directory that must not exist.
pub(super) fn make_directory(path: &Path) -> Result<(), LabError> {
    DirBuilder::new().mode(0o755).create(path).map_err(LabError::io("creating", path))
}
