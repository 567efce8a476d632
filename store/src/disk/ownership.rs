//! Ownership of the directory: whether its names still refer to the files that this store has open.
//!
//! An operator, a cleanup or a restored backup may move, replace or remove the files under a
//! running store. Whatever is acknowledged then would be lost, or a second process would write to
//! the same log.

use std::fmt;
use std::io;
use std::sync::Arc;

use super::file_name::{FileName, LOCK};
use super::log::Segment;
use crate::files::{FileId, Files, HeldLock};

/// The directory, as locked by this store.
pub(crate) struct Ownership {
    files: Arc<dyn Files>,
    lock: Box<dyn HeldLock>,
}

/// The reason why a name does not refer to the file that is open.
#[derive(Debug)]
enum Loss {
    Missing,
    Replaced,
    Failed(io::Error),
}

impl Ownership {
    pub(crate) fn new(files: Arc<dyn Files>, lock: Box<dyn HeldLock>) -> Self {
        Self { files, lock }
    }

    /// Checks that the lock file is the one that this store has locked. The error has the remedy.
    pub(crate) fn check(&self) -> Result<(), Arc<str>> {
        self.compare(LOCK, Ok(self.lock.id()))
    }

    /// Checks that also the open segment has its name.
    pub(crate) fn check_with(&self, segment: &Segment) -> Result<(), Arc<str>> {
        self.check()?;
        self.compare(&FileName::Log(segment.number).to_string(), segment.file.id())
    }

    fn compare(&self, name: &str, open: io::Result<FileId>) -> Result<(), Arc<str>> {
        let Err(loss) = compared(self.files.id(name), open) else { return Ok(()) };
        let (directory, path) = (self.files.path(""), self.files.path(name));
        Err(format!(
            "{} is not the directory that was opened: {} {loss}. Nothing more is written; stop this process, put the \
             directory back in its place, make sure that no other process uses it, and open it again",
            directory.display(),
            path.display()
        )
        .into())
    }
}

/// Compares the file of a name with the open one.
fn compared(named: io::Result<FileId>, open: io::Result<FileId>) -> Result<(), Loss> {
    match (named, open) {
        (Ok(named), Ok(open)) if named == open => Ok(()),
        (Ok(_), Ok(_)) => Err(Loss::Replaced),
        (Err(error), _) if error.kind() == io::ErrorKind::NotFound => Err(Loss::Missing),
        (Err(error), _) | (_, Err(error)) => Err(Loss::Failed(error)),
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("is missing"),
            Self::Replaced => f.write_str("is another file"),
            Self::Failed(error) => write!(f, "cannot be looked up ({error})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_another_file_or_of_none_is_a_loss() {
        let id = |number| Ok(FileId { device: 1, number });
        let error = |kind: io::ErrorKind| Err(kind.into());
        let shown = |named, open| compared(named, open).err().map(|loss| loss.to_string());
        assert_eq!(shown(id(7), id(7)), None);
        assert_eq!(shown(id(8), id(7)).as_deref(), Some("is another file"));
        let elsewhere = Ok(FileId { device: 2, number: 7 });
        assert_eq!(shown(elsewhere, id(7)).as_deref(), Some("is another file"));
        assert_eq!(shown(error(io::ErrorKind::NotFound), id(7)).as_deref(), Some("is missing"));
        for (named, open) in
            [(error(io::ErrorKind::PermissionDenied), id(7)), (id(7), error(io::ErrorKind::PermissionDenied))]
        {
            assert!(shown(named, open).is_some_and(|text| text.starts_with("cannot be looked up (")));
        }
    }
}
