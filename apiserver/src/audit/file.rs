//! Audit log files: a full file is renamed and a new one begun; the oldest are deleted.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp, tz::TimeZone};

use super::AuditSink;

/// An audit log file with mode 0600.
///
/// Written lines are in the kernel's page cache: they survive a kill of the process, but perhaps
/// not a power failure. A file that cannot be renamed keeps growing.
#[derive(Debug)]
pub struct AuditFile {
    path: PathBuf,
    file: File,
    /// Length of the file.
    bytes: u64,
    /// Whether the file ends within a line.
    torn: bool,
    max_bytes: u64,
    max_age: Option<SignedDuration>,
    max_backups: Option<usize>,
    clock: fn() -> Timestamp,
}

/// Time stamp in the names of rotated files; their lexical order is that of time.
const STAMP: &str = "%Y-%m-%dT%H-%M-%S%.3f";

impl AuditFile {
    /// Opens a log and appends to an existing file. It is rotated at 100 MB; rotated files are
    /// kept.
    ///
    /// # Errors
    /// The file cannot be opened or created.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        Self::at(path.into(), Timestamp::now)
    }

    /// Sets the length at which the file is rotated. A longer event has a file of its own.
    #[must_use]
    pub const fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets the maximum age of rotated files, in days.
    #[must_use]
    pub fn max_age_days(mut self, days: u32) -> Self {
        self.max_age = Some(SignedDuration::from_hours(24 * i64::from(days)));
        self
    }

    /// Sets the maximum number of rotated files.
    #[must_use]
    pub const fn max_backups(mut self, backups: usize) -> Self {
        self.max_backups = Some(backups);
        self
    }

    fn at(path: PathBuf, clock: fn() -> Timestamp) -> io::Result<Self> {
        let (file, bytes, torn) = open(&path)?;
        Ok(Self { path, file, bytes, torn, max_bytes: 100 << 20, max_age: None, max_backups: None, clock })
    }

    fn put(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.bytes > 0 && self.bytes + lines.len() as u64 > self.max_bytes {
            // A failed rotation is retried with the next line.
            let _ = self.rotate();
        }
        if self.torn {
            // A crash left part of a line, which must not merge with the next one.
            self.file.write_all(b"\n")?;
            (self.torn, self.bytes) = (false, self.bytes + 1);
        }
        // No fsync, as in Kubernetes: it would cost each request milliseconds.
        let written = self.file.write_all(lines);
        if written.is_ok() {
            self.bytes += lines.len() as u64;
            return Ok(());
        }
        // A full disk accepts part of a write. Lines reported as not written are removed again.
        self.torn = self.file.set_len(self.bytes).is_err();
        if self.torn {
            self.bytes = self.file.metadata().map_or(self.bytes, |metadata| metadata.len());
        }
        written
    }

    fn rotate(&mut self) -> io::Result<()> {
        let now = (self.clock)();
        match fs::rename(&self.path, self.backup(now)) {
            // Another process has moved the file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            renamed => renamed?,
        }
        (self.file, self.bytes, self.torn) = open(&self.path)?;
        self.delete_backups(now);
        Ok(())
    }

    /// A name that is not in use.
    fn backup(&self, mut now: Timestamp) -> PathBuf {
        let (stem, end) = self.ends();
        loop {
            let mut name = stem.clone();
            name.push(now.to_zoned(TimeZone::UTC).strftime(STAMP).to_string());
            name.push(&end);
            let path = self.path.with_file_name(name);
            if !path.exists() {
                return path;
            }
            now += SignedDuration::from_millis(1);
        }
    }

    /// Deletes rotated files that are too old or too many. A failed deletion is retried at the next
    /// rotation.
    fn delete_backups(&self, now: Timestamp) {
        let mut backups = self.backups();
        backups.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
        for (at, (time, path)) in backups.into_iter().enumerate() {
            let old = self.max_age.is_some_and(|most| now.duration_since(time) > most);
            if old || self.max_backups.is_some_and(|most| at >= most) {
                let _ = fs::remove_file(path);
            }
        }
    }

    /// The rotated files, with the times in their names.
    fn backups(&self) -> Vec<(Timestamp, PathBuf)> {
        let (stem, end) = self.ends();
        let home = self.path.parent().filter(|home| !home.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let named = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            let stamp = name.strip_prefix(stem.to_str()?)?.strip_suffix(end.to_str()?)?;
            let time = jiff::civil::DateTime::strptime(STAMP, stamp).ok()?;
            Some((time.to_zoned(TimeZone::UTC).ok()?.timestamp(), entry.path()))
        };
        fs::read_dir(home).into_iter().flatten().flatten().filter_map(named).collect()
    }

    /// The prefix `audit-` and suffix `.log` of `audit.log`.
    fn ends(&self) -> (OsString, OsString) {
        let mut stem = self.path.file_stem().unwrap_or_default().to_owned();
        stem.push("-");
        let end = self.path.extension().map(|end| {
            let mut all = OsString::from(".");
            all.push(end);
            all
        });
        (stem, end.unwrap_or_default())
    }
}

impl AuditSink for AuditFile {
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.bytes + lines.len() as u64 <= self.max_bytes {
            return self.put(lines);
        }
        // Line by line near the limit: the rotation falls between two lines.
        lines.split_inclusive(|byte| *byte == b'\n').try_for_each(|line| self.put(line))
    }
}

/// Opens the file; returns it with its length and whether it ends within a line.
fn open(path: &Path) -> io::Result<(File, u64, bool)> {
    let mut options = OpenOptions::new();
    options.create(true).read(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    let bytes = file.metadata()?.len();
    let mut last = [b'\n'];
    // A pipe cannot seek, so its end is unknown.
    if bytes > 0 && file.seek(SeekFrom::End(-1)).is_ok() {
        file.read_exact(&mut last)?;
    }
    Ok((file, bytes, last != [b'\n']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> Timestamp {
        "2026-11-24T02:10:37.5Z".parse().unwrap()
    }

    fn names(home: &Path) -> Vec<String> {
        let names =
            fs::read_dir(home).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn a_full_file_is_rotated() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("audit.log");
        let mut file = AuditFile::at(path.clone(), clock).unwrap().max_bytes(8);
        AuditSink::write(&mut file, b"one\ntwo\nthree\na line that is too long\nend\n").unwrap();
        let (first, second) = ("audit-2026-11-24T02-10-37.500.log", "audit-2026-11-24T02-10-37.501.log");
        let third = "audit-2026-11-24T02-10-37.502.log";
        assert_eq!(names(home.path()), [first, second, third, "audit.log"]);
        let read = |name: &str| fs::read_to_string(home.path().join(name)).unwrap();
        assert_eq!(read(first), "one\ntwo\n");
        assert_eq!(read(second), "three\n");
        assert_eq!(read(third), "a line that is too long\n");
        assert_eq!(read("audit.log"), "end\n");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn only_old_or_excess_backups_are_deleted() {
        let home = tempfile::tempdir().unwrap();
        for name in
            ["audit-2026-11-01T00-00-00.000.log", "audit-2026-11-23T00-00-00.000.log", "audit-notes.log"]
        {
            fs::write(home.path().join(name), "x").unwrap();
        }
        let mut file =
            AuditFile::at(home.path().join("audit.log"), clock).unwrap().max_bytes(4).max_age_days(7);
        AuditSink::write(&mut file, b"one\ntwo\n").unwrap();
        let (now, next) = ("audit-2026-11-24T02-10-37.500.log", "audit-2026-11-24T02-10-37.501.log");
        let yesterday = "audit-2026-11-23T00-00-00.000.log";
        assert_eq!(names(home.path()), [yesterday, now, "audit-notes.log", "audit.log"]);
        let mut file = file.max_backups(1);
        AuditSink::write(&mut file, b"three\n").unwrap();
        assert_eq!(names(home.path()), [next, "audit-notes.log", "audit.log"]);
    }

    #[test]
    fn appending_to_a_torn_file_begins_a_new_line() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("audit");
        fs::write(&path, "whole\nhalf").unwrap();
        let mut file = AuditFile::open(&path).unwrap();
        AuditSink::write(&mut file, b"next\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "whole\nhalf\nnext\n");
        assert!(AuditFile::open(home.path().join("none/audit")).is_err());
    }
}
