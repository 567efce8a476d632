//! The workspace, as cargo describes it. Lists of crates are read from here, so that a new crate is
//! tested, packaged and checked without an edit to xtask.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;
use cargo_metadata::{MetadataCommand, Package, TargetKind};

/// The manifests of the workspace, without their dependencies' manifests.
pub(crate) struct Workspace {
    /// The directory of the root manifest.
    pub(crate) root: PathBuf,
    /// The target directory.
    pub(crate) target: PathBuf,
    /// The members.
    pub(crate) packages: Vec<Package>,
}

impl Workspace {
    /// Reads the metadata of the workspace with cargo, from any directory inside it.
    pub(crate) fn read() -> anyhow::Result<Self> {
        let metadata = MetadataCommand::new().no_deps().exec().context(
            "cargo cannot read the workspace: run this inside it, and look for a manifest that is not whole",
        )?;
        Ok(Self {
            root: metadata.workspace_root.clone().into(),
            target: metadata.target_directory.clone().into(),
            packages: metadata.packages,
        })
    }

    /// Returns a cargo command that runs in the root of the workspace.
    pub(crate) fn cargo(&self, args: impl IntoIterator<Item = impl AsRef<str>>) -> Command {
        // The cargo that runs us, so that one invocation means one toolchain.
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(&self.root);
        command.args(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        command
    }

    /// Returns the path of clippy's compiler, beside the cargo that runs this program.
    pub(crate) fn clippy_driver(&self) -> Option<PathBuf> {
        let cargo = PathBuf::from(std::env::var_os("CARGO")?);
        Some(cargo.with_file_name("clippy-driver")).filter(|driver| driver.is_file())
    }

    /// Returns the crates that others link: they have a library, and rules that programs are free
    /// of.
    pub(crate) fn libraries(&self) -> impl Iterator<Item = &Package> {
        self.packages
            .iter()
            .filter(|package| package.targets.iter().any(|target| target.is_kind(TargetKind::Lib)))
    }

    /// Returns the crates that are published to the registry: not marked `publish = false`.
    pub(crate) fn published(&self) -> impl Iterator<Item = &Package> {
        self.packages
            .iter()
            .filter(|package| package.publish.as_ref().is_none_or(|registries| !registries.is_empty()))
    }

    /// Returns the crates with a `tests/loom.rs`.
    pub(crate) fn with_loom_models(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| {
            package.targets.iter().any(|target| target.is_kind(TargetKind::Test) && target.name == "loom")
        })
    }
}
