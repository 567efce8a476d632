//! Removal of a lab.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::directory::{lock, lock_path};
use super::journal::{self, Journal, LabEffect};
use super::process::of_lab;
use super::settings::lab_mark;
use super::{LabError, LabSettings};
use crate::drive::ovs::links::{NamespaceDirectory, OwnedNamespaces};

/// Removes the lab in a directory, whole or half made: processes, namespaces with their devices,
/// files, and the directory if it is empty then. Without a lab there is nothing to do.
///
/// # Errors
/// A step failed. The rest stays, and the function may be called again.
pub async fn down(directory: &Path) -> Result<(), LabError> {
    let directory = &std::path::absolute(directory).map_err(LabError::io("finding", directory))?;
    match fs::symlink_metadata(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(LabError::io("reading", directory)(error)),
        Ok(_) => {}
    }
    let entries = journal::read(directory)?;
    if entries.is_none() && !lock_path(directory).exists() {
        // Killed before its first file, or never a lab: only an empty directory is removed.
        return remove_if_empty(directory);
    }
    let guard = lock(directory).await?;
    remove_effects(directory, &entries.unwrap_or_default()).await?;
    remove_file(&Journal::path(directory))?;
    remove_file(&lock_path(directory))?;
    drop(guard);
    remove_if_empty(directory)
}

async fn remove_effects(directory: &Path, entries: &[LabEffect]) -> Result<(), LabError> {
    // Nothing follows an unwritten header.
    let Some(LabEffect::Lab { id, name, nodes, mtu }) = entries.first() else { return Ok(()) };
    let mut settings = LabSettings::new(directory, *nodes);
    (settings.name, settings.mtu) = (name.clone(), *mtu);

    for entry in entries.iter().rev() {
        if let LabEffect::Started { process, .. } = entry {
            process.kill().await?;
        }
    }
    // Those that have no entry yet, and their children.
    loop {
        let processes = of_lab(id).await;
        if processes.is_empty() {
            break;
        }
        for process in processes {
            process.kill().await?;
        }
    }

    for host in settings.hosts()? {
        OwnedNamespaces::start(&host.workload_mark())?.delete_all().await?;
    }
    OwnedNamespaces::start(&lab_mark(id))?.delete_all().await?;

    for entry in entries.iter().rev() {
        match entry {
            LabEffect::Directory { path } => remove_directory(path)?,
            LabEffect::NamespaceDirectory { created, mounted } => {
                NamespaceDirectory { created: *created, mounted: *mounted }.undo()?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn remove_directory(path: &Path) -> Result<(), LabError> {
    unless_missing(fs::remove_dir_all(path)).map_err(LabError::io("removing", path))
}

fn remove_file(path: &Path) -> Result<(), LabError> {
    unless_missing(fs::remove_file(path)).map_err(LabError::io("removing", path))
}

fn remove_if_empty(directory: &Path) -> Result<(), LabError> {
    match fs::remove_dir(directory) {
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(()),
        removed => unless_missing(removed).map_err(LabError::io("removing", directory)),
    }
}

fn unless_missing(removed: std::io::Result<()>) -> std::io::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
