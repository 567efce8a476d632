//! A data directory: the store, the certificates and tokens, and the kubeconfig.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::temporary::TemporaryDirectory;

const STORE: &str = "store";

/// Entries that this command creates, and the one of a file system's root.
const KNOWN_ENTRIES: [&str; 5] = [STORE, "pki", "kubeconfig", "kubeconfig.new", "lost+found"];

/// A data directory. A temporary one is removed on drop.
pub(crate) struct DataDirectory {
    path: PathBuf,
    temporary: Option<TemporaryDirectory>,
}

impl DataDirectory {
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path, temporary: None }
    }

    /// Creates a temporary directory for this process.
    pub(crate) fn temporary() -> anyhow::Result<Self> {
        let temporary = TemporaryDirectory::new(&std::env::temp_dir())?;
        Ok(Self { path: temporary.path().to_owned(), temporary: Some(temporary) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.path.join(STORE)
    }

    pub(crate) fn pki(&self) -> PathBuf {
        self.path.join("pki")
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.path.join("kubeconfig")
    }

    /// Refuses a directory with foreign files, to keep ours apart from them. Writes nothing.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        if self.temporary.is_some() {
            return Ok(());
        }
        let shown = self.path.display();
        let wrong = || format!("cannot use {shown}; name a readable and writable directory");
        let Ok(found) = fs::metadata(&self.path) else { return Ok(()) };
        if !found.is_dir() {
            bail!("{shown} is no directory; name a directory with --data-dir");
        }
        if self.store().exists() {
            return Ok(());
        }
        for entry in fs::read_dir(&self.path).with_context(wrong)? {
            let name = entry.with_context(wrong)?.file_name();
            if KNOWN_ENTRIES.iter().all(|known| name != *known) {
                let name = name.display();
                bail!(
                    "{shown} holds {name} and no data of machinery; name an empty directory, or the right one"
                );
            }
        }
        Ok(())
    }

    /// Refuses a directory without a store. Writes nothing.
    pub(crate) fn require_data(&self) -> anyhow::Result<()> {
        if !self.store().is_dir() {
            let shown = self.path.display();
            bail!("there is no data in {shown}; name the directory of `machinery serve` with --data-dir");
        }
        Ok(())
    }
}
