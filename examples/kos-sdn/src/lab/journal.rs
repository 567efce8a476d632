//! The journal of a lab: each effect, written before it takes place.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::process::ProcessIdentity;
use super::{LabError, LabSettings};

/// An effect of `up`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "camelCase")]
pub(super) enum LabEffect {
    /// The lab begins: the first entry.
    Lab {
        /// A random id: the mark of its namespaces and processes.
        id: String,
        /// Prefix of its namespaces.
        name: String,
        /// Number of hosts.
        nodes: usize,
        /// MTU of the underlay.
        mtu: u32,
    },
    /// `/run/netns` becomes a directory, or a mount.
    NamespaceDirectory {
        /// Whether it was absent.
        created: bool,
        /// Whether it was no mount.
        mounted: bool,
    },
    /// A namespace is created.
    Namespace {
        /// Its name.
        name: String,
    },
    /// Something inside a namespace of the lab changes, and ends with the namespace.
    Inside {
        /// Name of the namespace.
        namespace: String,
        /// The change.
        change: String,
    },
    /// A directory is created.
    Directory {
        /// Its path.
        path: PathBuf,
    },
    /// A process is about to start.
    Starting {
        /// The host.
        node: String,
        /// The program.
        program: String,
    },
    /// A process has started.
    Started {
        /// The host.
        node: String,
        /// The program.
        program: String,
        /// Its identity.
        process: ProcessIdentity,
    },
}

/// Maximum length of a journal in bytes: thousands of times the size of the largest lab.
const LENGTH_LIMIT: u64 = 64 << 20;

/// An open journal.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    stop_after: Option<usize>,
}

impl Journal {
    /// Returns the path of the journal in a lab's directory.
    pub(super) fn path(directory: &Path) -> PathBuf {
        directory.join("journal")
    }

    /// Creates the journal of a new lab.
    pub(super) fn create(settings: &LabSettings) -> Result<Self, LabError> {
        let path = Self::path(&settings.directory);
        let file = OpenOptions::new().append(true).create_new(true).open(&path);
        let file = file.map_err(LabError::io("creating", &path))?;
        Ok(Self { path, file, stop_after: settings.stop_after })
    }

    /// Appends an entry, and waits until it is on disk.
    pub(super) fn append(&mut self, effect: &LabEffect) -> Result<(), LabError> {
        self.stop_here()?;
        let mut line = serde_json::to_vec(effect).map_err(|error| LabError::Io {
            operation: "encoding",
            path: self.path.clone(),
            reason: error.to_string(),
        })?;
        line.push(b'\n');
        let written = self.file.write_all(&line).and_then(|()| self.file.sync_data());
        written.map_err(LabError::io("writing", &self.path))?;
        self.stop_here()
    }

    fn stop_here(&mut self) -> Result<(), LabError> {
        match &mut self.stop_after {
            Some(0) => Err(LabError::Stopped),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

/// Reads the entries. An unfinished last line is no entry: its effect has not taken place.
///
/// # Errors
/// The file cannot be read, or another line is malformed.
pub(super) fn read(directory: &Path) -> Result<Option<Vec<LabEffect>>, LabError> {
    let path = Journal::path(directory);
    let length = match fs::metadata(&path) {
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(LabError::io("reading", &path)(error)),
    };
    if length > LENGTH_LIMIT {
        let reason = format!("it has more than {LENGTH_LIMIT} bytes");
        return Err(LabError::Io { operation: "reading", path, reason });
    }
    let text = fs::read_to_string(&path).map_err(LabError::io("reading", &path))?;
    parse(&text, &path).map(Some)
}

fn parse(text: &str, path: &Path) -> Result<Vec<LabEffect>, LabError> {
    let whole = text.rfind('\n').map_or("", |end| text.get(..end).unwrap_or_default());
    let lines = (1..).zip(whole.lines());
    let entry = |(line, text): (usize, &str)| {
        let malformed = |error: serde_json::Error| LabError::Journal {
            path: path.into(),
            line,
            reason: error.to_string(),
        };
        serde_json::from_str(text).map_err(malformed)
    };
    lines.map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_line_is_no_entry() {
        let effect = LabEffect::Namespace { name: "a".into() };
        let line = serde_json::to_string(&effect).unwrap();
        let check = |text: &str, expected: &[LabEffect]| {
            assert_eq!(parse(text, Path::new("journal")).unwrap(), expected, "{text}");
        };
        check("", &[]);
        check("{\"effe", &[]);
        check(&line, &[]);
        check(&format!("{line}\n{{\"eff"), std::slice::from_ref(&effect));
        check(&format!("{line}\n{line}\n"), &[effect.clone(), effect]);
        assert!(matches!(parse("{}\n", Path::new("journal")), Err(LabError::Journal { line: 1, .. })));
    }
}
