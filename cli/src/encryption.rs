//! Encryption at rest of `machinery serve`.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use machinery::apiserver::Encryption;
use zeroize::Zeroizing;

/// Far above any configuration; bounds the memory that a wrong path can take.
const MAX_BYTES: u64 = 1 << 20;

/// The flag of encryption at rest, named as in kube-apiserver.
#[derive(clap::Args)]
pub(crate) struct EncryptionArgs {
    /// Keys of encryption at rest: an EncryptionConfiguration of apiserver.config.k8s.io/v1. Must
    /// be accessible to its owner only
    #[arg(long, value_name = "F")]
    encryption_provider_config: Option<PathBuf>,
}

impl EncryptionArgs {
    /// Reads the encryption configuration, if one is given.
    pub(crate) fn read(&self) -> anyhow::Result<Option<Encryption>> {
        let Some(path) = &self.encryption_provider_config else { return Ok(None) };
        let text = text(path)
            .with_context(|| format!("cannot use the encryption configuration {}", path.display()))?;
        let read = Encryption::read(&text);
        read.map(Some).with_context(|| format!("fix the encryption configuration {}", path.display()))
    }
}

fn text(path: &Path) -> anyhow::Result<Zeroizing<String>> {
    let file = File::open(path)?;
    let mode = file.metadata()?.mode() & 0o777;
    if mode & 0o077 != 0 {
        bail!("others than its owner may use it (mode {mode:o}); run: chmod 600 {}", path.display());
    }
    let mut text = Zeroizing::new(String::new());
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        bail!("it is larger than 1 MiB; check the path");
    }
    Ok(text)
}
