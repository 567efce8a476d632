//! A data directory: the store, the certificates and tokens, and the kubeconfig.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

const STORE: &str = "store";

/// What we make there, and what a file system puts into its root.
const KNOWN_ENTRIES: [&str; 5] = [STORE, "pki", "kubeconfig", "kubeconfig.new", "lost+found"];

/// Where everything is kept. One that is temporary is removed in the end.
pub(crate) struct DataDirectory {
    path: PathBuf,
    temporary: bool,
}

impl DataDirectory {
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path, temporary: false }
    }

    /// One of this process alone, made now.
    pub(crate) fn temporary() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("machinery-{}", std::process::id()));
        fs::DirBuilder::new().mode(0o700).create(&path).with_context(|| {
            format!(
                "cannot make {}; remove what is there, or set TMPDIR to another directory",
                path.display()
            )
        })?;
        Ok(Self { path, temporary: true })
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

    /// Refuses a directory that somebody else uses: nothing of ours is strewn into it. Changes nothing.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let shown = self.path.display();
        let wrong = || format!("cannot use {shown}; name a directory that may be read and written");
        let Ok(found) = fs::metadata(&self.path) else { return Ok(()) };
        if !found.is_dir() {
            bail!("{shown} is no directory; name another one with --data-dir");
        }
        if self.store().exists() {
            return Ok(());
        }
        for entry in fs::read_dir(&self.path).with_context(wrong)? {
            let name = entry.with_context(wrong)?.file_name();
            if KNOWN_ENTRIES.iter().all(|known| name != *known) {
                let name = name.display();
                bail!(
                    "{shown} holds {name} and no data of this command; name an empty directory, or the right one"
                );
            }
        }
        Ok(())
    }

    /// Refuses one without data. Changes nothing.
    pub(crate) fn require_data(&self) -> anyhow::Result<()> {
        if !self.store().is_dir() {
            let shown = self.path.display();
            bail!("there is no data in {shown}; name with --data-dir what `machinery serve` was given");
        }
        Ok(())
    }
}

impl Drop for DataDirectory {
    fn drop(&mut self) {
        if self.temporary {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
