//! Names of the store's files.

use machinery_objects::Revision;

/// Suffix of an incomplete checkpoint, which is never read.
pub(crate) const UNFINISHED: &str = ".unfinished";

/// The lock file, locked while the store is open.
pub(crate) const LOCK: &str = "lock";

/// Returns whether a file is allowed in an empty directory: the lock, or a file system's own.
pub(crate) fn is_neutral(name: &str) -> bool {
    name == LOCK || name == "lost+found"
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileName {
    /// The log segment of this number.
    Log(u64),
    /// The checkpoint of this revision.
    Checkpoint(Revision),
    /// A preallocated segment.
    Spare(u64),
    /// An incomplete checkpoint.
    Unfinished(Revision),
}

impl FileName {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let (stem, whole) = name.strip_suffix(UNFINISHED).map_or((name, true), |stem| (stem, false));
        let (kind, number) = stem.split_once('-')?;
        let number = u64::from_str_radix(number, 16).ok()?;
        let parsed = match kind {
            "log" => Self::Log(number),
            "checkpoint" if !whole => Self::Unfinished(Revision(number)),
            "checkpoint" => Self::Checkpoint(Revision(number)),
            "spare" => Self::Spare(number),
            _ => return None,
        };
        (parsed.to_string() == name).then_some(parsed)
    }
}

impl std::fmt::Display for FileName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Log(number) => write!(f, "log-{number:016x}"),
            Self::Checkpoint(revision) => write!(f, "checkpoint-{:016x}", revision.0),
            Self::Spare(number) => write!(f, "spare-{number:016x}"),
            Self::Unfinished(revision) => write!(f, "{}{UNFINISHED}", Self::Checkpoint(*revision)),
        }
    }
}
