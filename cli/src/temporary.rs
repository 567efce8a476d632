//! The directory of a server in memory: its certificates, tokens and kubeconfig.
//!
//! A process that was killed leaves its directory behind. The next one removes it: a directory
//! with a free lock has no process.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context;

/// A name is this and sixteen hexadecimal digits.
const PREFIX: &str = "machinery-memory-";

/// The lock file, and its content: directories of other programs are left alone.
const LOCK: &str = "lock";
const MARK: &str = "machinery serve --memory\n";

/// Attempts to create a directory. Each fails only if another process interferes.
const ATTEMPTS: usize = 16;

/// A new directory, removed on drop.
pub(crate) struct TemporaryDirectory {
    path: PathBuf,
    /// Held until the directory is removed.
    _lock: File,
}

impl TemporaryDirectory {
    /// Creates a directory with a fresh name in `parent`, and removes those of dead processes.
    pub(crate) fn new(parent: &Path) -> anyhow::Result<Self> {
        remove_abandoned(parent);
        let mut failure = io::Error::other("other processes removed it again and again");
        for _ in 0..ATTEMPTS {
            match create(parent) {
                Ok(Some(made)) => return Ok(made),
                Ok(None) => {}
                Err(error) => {
                    failure = error;
                    break;
                }
            }
        }
        Err(failure).with_context(|| {
            format!("cannot create a directory in {}; set TMPDIR to another directory", parent.display())
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Creates a directory and locks it. `None` if another process took it for an abandoned one.
fn create(parent: &Path) -> io::Result<Option<TemporaryDirectory>> {
    let mut number = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut number)?;
    let path = parent.join(format!("{PREFIX}{:016x}", u64::from_le_bytes(number)));
    fs::DirBuilder::new().mode(0o700).create(&path)?;
    let lock_path = path.join(LOCK);
    let mut lock = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&lock_path)?;
    match lock.try_lock() {
        Ok(()) => {}
        // Another process looks at it, and leaves it alone, since it has no mark.
        Err(TryLockError::WouldBlock) => {
            let _ = fs::remove_dir_all(&path);
            return Ok(None);
        }
        Err(TryLockError::Error(error)) => return Err(error),
    }
    // The mark makes it a directory that may be removed, so it is locked before.
    lock.write_all(MARK.as_bytes())?;
    let is_there = fs::metadata(&lock_path).is_ok_and(|found| is_same(&found, &lock));
    Ok(is_there.then_some(TemporaryDirectory { path, _lock: lock }))
}

fn is_same(found: &fs::Metadata, file: &File) -> bool {
    file.metadata().is_ok_and(|open| (open.dev(), open.ino()) == (found.dev(), found.ino()))
}

/// Removes the directories of this user's dead processes. Failures leave a directory behind, which
/// is harmless.
fn remove_abandoned(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(is_name)
            && let Ok(Some(lock)) = abandoned(&entry.path())
        {
            let _ = fs::remove_dir_all(entry.path());
            drop(lock);
        }
    }
}

fn is_name(name: &str) -> bool {
    let digits = name.strip_prefix(PREFIX).unwrap_or_default();
    digits.len() == 16 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns the lock of a directory that this program made for this user, if no process has it.
fn abandoned(path: &Path) -> io::Result<Option<File>> {
    // Not through a symbolic link, and nothing of another user.
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() || found.uid() != rustix::process::geteuid().as_raw() {
        return Ok(None);
    }
    let lock_path = path.join(LOCK);
    if !fs::symlink_metadata(&lock_path)?.is_file() {
        return Ok(None);
    }
    let mut lock = OpenOptions::new().read(true).open(&lock_path)?;
    if lock.try_lock().is_err() {
        return Ok(None);
    }
    let mut text = String::new();
    (&mut lock).take(MARK.len() as u64 + 1).read_to_string(&mut text)?;
    Ok((text == MARK).then_some(lock))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn names(parent: &Path) -> Vec<String> {
        let names = fs::read_dir(parent).expect("read").map(|entry| entry.expect("read").file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().expect("a name")).collect();
        names.sort();
        names
    }

    /// Makes the directory that a killed process leaves behind: its lock is free.
    fn killed(parent: &Path) -> PathBuf {
        let directory = TemporaryDirectory::new(parent).expect("made");
        let (path, text) =
            (directory.path().to_owned(), fs::read(directory.path().join(LOCK)).expect("read"));
        drop(directory);
        fs::create_dir(&path).expect("made again");
        fs::write(path.join(LOCK), text).expect("written");
        fs::write(path.join("kubeconfig"), "secret").expect("written");
        path
    }

    #[test]
    fn directories_of_dead_processes_are_removed_and_of_living_ones_kept() {
        let parent = tempfile::tempdir().expect("a directory");
        let living = TemporaryDirectory::new(parent.path()).expect("made");
        let dead = killed(parent.path());
        let new = TemporaryDirectory::new(parent.path()).expect("made");
        assert!(!dead.exists(), "it has no process");
        assert_ne!(living.path(), new.path());
        for directory in [&living, &new] {
            assert_eq!(fs::metadata(directory.path()).expect("there").permissions().mode() & 0o777, 0o700);
        }
        drop((living, new));
        assert_eq!(names(parent.path()), [""; 0], "they are removed at the end");
    }

    #[test]
    fn directories_that_are_not_ours_are_kept() {
        let parent = tempfile::tempdir().expect("a directory");
        let path = |name: &str| parent.path().join(name);
        let elsewhere = tempfile::tempdir().expect("a directory");
        let target = killed(elsewhere.path());
        let digits = "0123456789abcdef";
        // Without a lock, with another content of the lock, a link, a file, and another name.
        fs::create_dir(path(&format!("{PREFIX}0{}", &digits[1..]))).expect("made");
        let foreign = path(&format!("{PREFIX}1{}", &digits[1..]));
        fs::create_dir(&foreign).expect("made");
        fs::write(foreign.join(LOCK), "mine").expect("written");
        std::os::unix::fs::symlink(&target, path(&format!("{PREFIX}2{}", &digits[1..]))).expect("linked");
        fs::write(path(&format!("{PREFIX}3{}", &digits[1..])), MARK).expect("written");
        fs::rename(killed(parent.path()), path("machinery-memory-mine")).expect("renamed");
        let linked = path(&format!("{PREFIX}4{}", &digits[1..]));
        fs::create_dir(&linked).expect("made");
        std::os::unix::fs::symlink(target.join(LOCK), linked.join(LOCK)).expect("linked");
        let before = names(parent.path());
        assert_eq!(before.len(), 6);
        drop(TemporaryDirectory::new(parent.path()).expect("made"));
        assert_eq!(names(parent.path()), before);
        assert!(target.join("kubeconfig").exists());
    }

    #[test]
    fn many_processes_that_start_at_once_keep_their_directories() {
        let parent = tempfile::tempdir().expect("a directory");
        for _ in 0..5 {
            killed(parent.path());
        }
        let mut made = Vec::new();
        std::thread::scope(|scope| {
            let start = || scope.spawn(|| TemporaryDirectory::new(parent.path()).expect("made"));
            let starting: Vec<_> = (0..16).map(|_| start()).collect();
            for one in starting {
                made.push(one.join().expect("no panic"));
            }
        });
        for directory in &made {
            assert!(directory.path().join(LOCK).exists());
        }
        assert_eq!(names(parent.path()).len(), 16);
    }

    #[test]
    fn a_parent_that_is_missing_is_named_with_a_remedy() {
        let parent = tempfile::tempdir().expect("a directory");
        let missing = parent.path().join("missing");
        let error = format!("{:#}", TemporaryDirectory::new(&missing).err().expect("refused"));
        assert!(error.contains(missing.to_str().expect("text")) && error.contains("set TMPDIR"), "{error}");
    }
}
