//! The history: every change since the compacted revision.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use machinery_objects::Revision;

use super::version::Version;

/// About the memory of one revision in the history, apart from keys and values.
pub(crate) const REVISION_BYTES: u64 = 256;

/// The versions that one revision made; never empty.
#[derive(Clone, Debug)]
pub(crate) struct RevisionChanges {
    pub(crate) revision: Revision,
    pub(crate) versions: Versions,
}

/// The versions of a revision. Most have one, which needs no allocation.
#[derive(Clone, Debug)]
pub(crate) enum Versions {
    One(Arc<Version>),
    Many(Arc<[Arc<Version>]>),
}

impl RevisionChanges {
    pub(crate) fn versions(&self) -> &[Arc<Version>] {
        match &self.versions {
            Versions::One(version) => std::slice::from_ref(version),
            Versions::Many(versions) => versions,
        }
    }
}

impl From<Vec<Arc<Version>>> for Versions {
    fn from(mut versions: Vec<Arc<Version>>) -> Self {
        match versions.len() {
            1 => Self::One(versions.remove(0)),
            _ => Self::Many(versions.into()),
        }
    }
}

/// The changes after `compacted`, one element per revision without a gap: an index follows from the
/// revision.
#[derive(Debug)]
pub(crate) struct ChangeHistory {
    compacted: Revision,
    revised: VecDeque<RevisionChanges>,
}

impl ChangeHistory {
    pub(crate) fn new(compacted: Revision) -> Self {
        Self { compacted, revised: VecDeque::new() }
    }

    pub(crate) fn compacted(&self) -> Revision {
        self.compacted
    }

    pub(crate) fn newest(&self) -> Revision {
        Revision(self.compacted.0 + self.revised.len() as u64)
    }

    pub(crate) fn push(&mut self, revised: RevisionChanges) {
        assert_eq!(revised.revision, self.newest().next(), "the history has no gap");
        self.revised.push_back(revised);
    }

    /// Returns the changes of `revisions`, without those outside the history.
    pub(crate) fn range(&self, revisions: Range<Revision>) -> impl Iterator<Item = &RevisionChanges> {
        let place = |revision: Revision| {
            (revision.0.saturating_sub(self.compacted.0 + 1) as usize).min(self.revised.len())
        };
        let (start, end) = (place(revisions.start), place(revisions.end));
        self.revised.range(start..end.max(start))
    }

    /// Returns the oldest revision up to which the history takes at least `bytes`, or the newest
    /// one.
    pub(crate) fn oldest_with(&self, bytes: u64) -> Revision {
        let mut counted = 0;
        let enough = self.revised.iter().find(|revised| {
            let versions = revised.versions().iter();
            counted += REVISION_BYTES + versions.map(|version| version.history_bytes()).sum::<u64>();
            counted >= bytes
        });
        enough.map_or(self.newest(), |revised| revised.revision)
    }

    /// Removes the changes up to and including `to`, and returns them.
    pub(crate) fn compact(&mut self, to: Revision) -> Vec<RevisionChanges> {
        assert!(to <= self.newest(), "what has not happened cannot be compacted");
        let gone = to.0.saturating_sub(self.compacted.0) as usize;
        self.compacted = self.compacted.max(to);
        self.revised.drain(..gone).collect()
    }
}
