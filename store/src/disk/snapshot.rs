//! Snapshots: a store as one file, and restoring one.

use std::io::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use machinery_objects::Revision;
use thiserror::Error;

use super::checkpoint;
use super::error::OpenError;
use super::file_name::{UNFINISHED, is_neutral};
use super::load::load;
use super::log;
use super::open::Disk;
use crate::core::{Table, View};
use crate::files::{Directory, Files};
use crate::memory::Memory;
use crate::shared::Shared;

/// An error of making a snapshot.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The file exists.
    #[error("{} is there already: name another file, or remove it", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The store is closed.
    #[error("the store was closed; open it again")]
    Closed,
    /// The file cannot be written.
    #[error("the snapshot {} cannot be written: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: Arc<std::io::Error>,
    },
}

impl Disk {
    /// Writes the current state to a file, from which [`restore`] makes a store. Reads and writes
    /// continue meanwhile. Dropping the future does not stop the writing.
    pub async fn snapshot(&self, path: impl AsRef<Path>) -> Result<Revision, SnapshotError> {
        let (view, revision) = self.view().await.ok_or(SnapshotError::Closed)?;
        write(Arc::clone(self.shared()), view, revision, path.as_ref().into()).await
    }
}

impl Memory {
    /// Writes the current state to a file, from which [`restore`] makes a store. Reads and writes
    /// continue meanwhile. Dropping the future does not stop the writing.
    pub async fn snapshot(&self, path: impl AsRef<Path>) -> Result<Revision, SnapshotError> {
        let (view, revision) = self.view();
        write(Arc::clone(self.shared()), view, revision, path.as_ref().into()).await
    }
}

async fn write(
    shared: Arc<Shared>,
    view: View,
    revision: Revision,
    path: PathBuf,
) -> Result<Revision, SnapshotError> {
    let failed = |path: &Path, error| SnapshotError::Io { path: path.into(), source: Arc::new(error) };
    let shown = path.clone();
    let written = tokio::task::spawn_blocking(move || {
        let (directory, name) = split(&path).map_err(|error| failed(&path, error))?;
        let unfinished = directory.path(&format!("{name}{UNFINISHED}"));
        if let Some(path) = [&path, &unfinished].into_iter().find(|path| path.exists()) {
            return Err(SnapshotError::Exists { path: path.clone() });
        }
        checkpoint::write(&directory, &name, &view, revision, || shared.compacted(), || Ok(()))
            .map_err(|error| failed(&path, error))
    });
    match written.await {
        Ok(written) => written.map(|_| revision),
        Err(panicked) => Err(failed(&shown, std::io::Error::other(panicked))),
    }
}

/// The largest initial revision; as many are left for commits.
const MOST: u64 = u64::MAX / 2;

/// Restores a snapshot into the directory `into`, which is empty or missing.
///
/// Returns the new store's revision: that of the snapshot, raised by `bump`. Everything before it
/// counts as compacted, so clients of the old store, even of commits after the snapshot, must list
/// again. `bump` must exceed the number of commits that the old store made after the snapshot; etcd
/// recommends a billion.
pub fn restore(snapshot: impl AsRef<Path>, into: impl AsRef<Path>, bump: u64) -> Result<Revision, OpenError> {
    let (snapshot, into) = (snapshot.as_ref(), into.as_ref());
    let failed = |doing, path: &Path, error| OpenError::of(doing, path, error);
    let (from, name) = split(snapshot).map_err(|error| failed("opening", snapshot, error))?;
    let loaded = load(&from, &name)?;
    let revision = loaded.revision.0.checked_add(bump).filter(|revision| *revision <= MOST);
    let revision = revision.map(Revision).ok_or_else(|| {
        failed("restoring", into, Error::other("so large a bump leaves no revisions: a billion will do"))
    })?;
    let to = Directory::make(into).map_err(|error| failed("making", into, error))?;
    let names = to.list().map_err(|error| failed("listing", into, error))?;
    if let Some(name) = names.iter().find(|name| !is_neutral(name)) {
        let what = format!("a snapshot is restored into an empty directory, and this one holds `{name}`");
        return Err(OpenError::NotAStore { path: into.into(), what });
    }
    let table = Table::new(0);
    table.load().all(loaded.newest).finish();
    let view = table.view();
    let made = checkpoint::write(&to, &checkpoint::name(revision), &view, revision, || revision, || Ok(()))
        .and_then(|_| log::begin(&to, None, 1, revision, revision));
    made.map(|_| revision).map_err(|error| failed("writing to", into, error))
}

fn split(path: &Path) -> std::io::Result<(Directory, String)> {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| std::io::Error::new(std::io::ErrorKind::InvalidInput, "it has no name"))?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((Directory::existing(parent), name.into()))
}
