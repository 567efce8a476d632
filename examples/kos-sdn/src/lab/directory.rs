//! The directory of a lab, and its lock.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use machinery::tokio::time::{Instant, sleep};

use super::LabError;
use super::journal::Journal;

/// Returns the path of the file lock in a lab's directory.
pub(super) fn lock_path(directory: &Path) -> PathBuf {
    directory.join("lock")
}

/// Maximum time to wait for the lock. A child process that another thread of the last holder has
/// just forked has the lock, too, until it executes its program.
const LOCK_LIMIT: Duration = Duration::from_secs(2);

/// Interval of attempts to take the lock.
const LOCK_CHECK: Duration = Duration::from_millis(10);

/// Takes the lock of a directory that exists.
pub(super) async fn lock(directory: &Path) -> Result<File, LabError> {
    let path = lock_path(directory);
    let file = File::create(&path).map_err(LabError::io("creating", &path))?;
    let deadline = Instant::now() + LOCK_LIMIT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => sleep(LOCK_CHECK).await,
            Err(TryLockError::WouldBlock) => return Err(LabError::Busy { directory: directory.into() }),
            Err(TryLockError::Error(error)) => return Err(LabError::io("locking", &path)(error)),
        }
    }
}

/// Creates the directory, checks that nothing else is in it, and takes its lock.
pub(super) async fn prepare_directory(directory: &Path) -> Result<File, LabError> {
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
    lock(directory).await
}

/// Creates a directory that must not exist.
pub(super) fn make_directory(path: &Path) -> Result<(), LabError> {
    DirBuilder::new().mode(0o755).create(path).map_err(LabError::io("creating", path))
}
