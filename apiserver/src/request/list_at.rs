//! The revision of a list, from resourceVersion and resourceVersionMatch.

use super::ContinueToken;

/// How a list's revision is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    /// Exactly this revision.
    Exact,
    /// This revision, or a later one.
    NotOlderThan,
}

/// The revision of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListAt {
    /// The newest there is now.
    Newest,
    /// Any revision: the cheapest one.
    Any,
    /// This revision or a later one.
    NotOlderThan(u64),
    /// This revision.
    Exact(u64),
    /// The position after an earlier page.
    After(ContinueToken),
}

impl ListAt {
    /// Kubernetes' table. A revision without a match is the least one, but for a page it is the
    /// exact one.
    pub(super) const fn of(revision: Option<u64>, meant: Option<Match>, paged: bool) -> Self {
        match (revision, meant) {
            (None, _) => Self::Newest,
            (Some(0), _) => Self::Any,
            (Some(revision), Some(Match::Exact)) => Self::Exact(revision),
            (Some(revision), None) if paged => Self::Exact(revision),
            (Some(revision), _) => Self::NotOlderThan(revision),
        }
    }
}
