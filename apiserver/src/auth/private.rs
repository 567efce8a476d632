//! Files with mode 0600: keys, tokens, kubeconfigs.

use std::fmt::Display;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Maximum file size: a wrong path must not exhaust memory.
const LIMIT: u64 = 16 << 20;

/// The error of a file and its remedy, on one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}; {remedy}", path.display())]
pub(crate) struct FileError {
    pub(crate) path: PathBuf,
    pub(crate) what: String,
    pub(crate) remedy: String,
    /// Whether there was no room on the disk.
    pub(crate) full: bool,
}

impl FileError {
    pub(crate) fn new(path: &Path, what: impl Display, remedy: impl Display) -> Self {
        Self { path: path.into(), what: what.to_string(), remedy: remedy.to_string(), full: false }
    }

    fn of(path: &Path, doing: &str, error: &io::Error) -> Self {
        let remedy = match error.kind() {
            io::ErrorKind::NotFound => "check the path",
            io::ErrorKind::PermissionDenied => "let this user read and write it, or name another path",
            _ if is_full(error) => "make room, or name another path",
            _ => "check the disk, or name another path",
        };
        Self { full: is_full(error), ..Self::new(path, format_args!("{doing} failed: {error}"), remedy) }
    }
}

/// Returns the contents of the file, or `None` if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<String>, FileError> {
    let failed = |error: &io::Error| FileError::of(path, "reading", error);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(&error)),
    };
    let mut bytes = Vec::new();
    file.take(LIMIT + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    if bytes.len() as u64 > LIMIT {
        return Err(FileError::new(path, "it is larger than 16 MiB", "name the file that was meant"));
    }
    let text = String::from_utf8(bytes);
    text.map(Some).map_err(|_| FileError::new(path, "it is not text", "name the file that was meant"))
}

/// Rejects a secret that users other than its owner may read.
pub(crate) fn check_mode(path: &Path) -> Result<(), FileError> {
    let mode = fs::metadata(path).map_err(|error| FileError::of(path, "reading", &error))?.mode() & 0o777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let remedy = format_args!("run: chmod 600 {}", path.display());
    Err(FileError::new(path, format_args!("others than its owner may use it (mode {mode:o})"), remedy))
}

/// Rejects a path at which no file can be written. Changes nothing.
pub(crate) fn check_writable(path: &Path) -> Result<(), FileError> {
    if path.is_dir() || path.file_name().is_none() {
        return Err(FileError::new(
            path,
            "it is a directory, and no file can be written there",
            "name a file",
        ));
    }
    // Missing directories are created in the first existing one above.
    let above =
        path.ancestors().skip(1).map(|above| if above == Path::new("") { Path::new(".") } else { above });
    let there = above.into_iter().find(|above| fs::symlink_metadata(above).is_ok()).unwrap_or(Path::new("/"));
    if !there.is_dir() {
        let what = format_args!("{} is no directory", there.display());
        return Err(FileError::new(path, what, "name a path in a directory"));
    }
    let probe = there.join(format!(".machinery-{}", std::process::id()));
    match put(&probe, "") {
        // A full disk is no wrong path, and a server with a full disk serves reads.
        Err(error) if !is_full(&error) => Err(FileError::of(path, "writing", &error)),
        _ => remove(&probe),
    }
}

/// Distinguishes versions of a file: modification time, size and inode. `None` if it does not
/// exist.
pub(crate) type Stamp = Option<(i64, i64, u64, u64)>;

pub(crate) fn stamp(path: &Path) -> Stamp {
    let found = fs::metadata(path).ok()?;
    Some((found.mtime(), found.mtime_nsec(), found.size(), found.ino()))
}

/// Creates the directory and its parents, with mode 0700.
pub(crate) fn make_directory(path: &Path) -> Result<(), FileError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| FileError::of(path, "making the directory", &error))
}

/// Replaces the file atomically, with mode 0600. Concurrent readers, and readers after a crash, see
/// the previous contents or all of `text`. A file that has it already stays, so that a full disk
/// is no error.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), FileError> {
    let is_ours = |found: fs::Metadata| found.is_file() && found.mode() & 0o777 == 0o600;
    if fs::symlink_metadata(path).is_ok_and(is_ours) && read(path).is_ok_and(|it| it.as_deref() == Some(text))
    {
        return Ok(());
    }
    stage(path, text)?.place()
}

/// New contents of a file beside it.
pub(crate) struct StagedFile<'a> {
    path: &'a Path,
    new: PathBuf,
}

/// Writes the new contents of a file beside it.
pub(crate) fn stage<'a>(path: &'a Path, text: &str) -> Result<StagedFile<'a>, FileError> {
    let directory = directory_of(path);
    make_directory(directory)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = directory.join(name);
    match put(&new, text) {
        Ok(()) => Ok(StagedFile { path, new }),
        Err(error) => {
            // A part of it would take the room that is left.
            let _ = fs::remove_file(&new);
            Err(FileError::of(&new, "writing", &error))
        }
    }
}

impl StagedFile<'_> {
    /// Replaces the file.
    pub(crate) fn place(self) -> Result<(), FileError> {
        let moved =
            fs::rename(&self.new, self.path).and_then(|()| File::open(directory_of(self.path))?.sync_all());
        moved.map_err(|error| FileError::of(self.path, "writing", &error))
    }
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Removes the file if it exists.
pub(crate) fn remove(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FileError::of(path, "removing", &error)),
        _ => Ok(()),
    }
}

/// A file left by a crash is removed rather than opened: its mode, or the target of a symbolic
/// link, is not trusted.
fn put(path: &Path, text: &str) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn files_are_written_with_mode_0600() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a/b/secret");
        write(&path, "one").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("a mode");
        let error = check_mode(&path).expect_err("others may read it").to_string();
        let path_text = path.display();
        let expected = format!("others than its owner may use it (mode 644); run: chmod 600 {path_text}");
        assert_eq!(error, format!("{path_text}: {expected}"));
        write(&path, "two").expect("written again");
        check_mode(&path).expect("0600 again");
        assert_eq!(read(&path).expect("read").as_deref(), Some("two"));
        let mode = |path: &Path| fs::metadata(path).expect("there").mode() & 0o777;
        assert_eq!([mode(&path), mode(&directory.path().join("a"))], [0o600, 0o700]);
    }

    #[test]
    fn a_leftover_symlink_is_not_followed() {
        let directory = tempfile::tempdir().expect("a directory");
        let (path, victim) = (directory.path().join("secret"), directory.path().join("victim"));
        fs::write(&victim, "precious").expect("written");
        std::os::unix::fs::symlink(&victim, directory.path().join("secret.new")).expect("a link");
        write(&path, "one").expect("written");
        assert_eq!(fs::read_to_string(&victim).expect("read"), "precious");
        assert_eq!(fs::read_to_string(&path).expect("read"), "one");
    }

    #[test]
    fn a_missing_file_is_none_and_invalid_utf8_is_an_error() {
        let directory = tempfile::tempdir().expect("a directory");
        assert_eq!(read(&directory.path().join("none")), Ok(None));
        let path = directory.path().join("bytes");
        fs::write(&path, [0xff]).expect("written");
        let error = read(&path).expect_err("not text").to_string();
        assert!(error.ends_with("bytes: it is not text; name the file that was meant"), "{error}");
        read(directory.path()).expect_err("a directory is no file");
    }
}
