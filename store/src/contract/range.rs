//! Reading many entries at one revision, a page at a time.

use std::num::NonZeroUsize;
use std::sync::Arc;

use machinery_objects::Revision;

use super::entry::Entry;
use super::key::{Key, KeySpan};

/// Which entries to read, and as of when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// Which keys.
    pub span: KeySpan,
    /// As of when: none is now, which includes every commit that was acknowledged before the call.
    pub at: Option<Revision>,
    /// Begins behind this key.
    pub after: Option<Key>,
    /// At most so many entries.
    pub limit: Option<NonZeroUsize>,
    /// Whether to count what lies behind the page, which costs a walk over it.
    pub count: bool,
}

impl Range {
    /// All entries of `span`, as of now, in one page.
    #[must_use]
    pub const fn of(span: KeySpan) -> Self {
        Self { span, at: None, after: None, limit: None, count: false }
    }

    /// As of `revision`.
    #[must_use]
    pub const fn at(mut self, revision: Revision) -> Self {
        self.at = Some(revision);
        self
    }

    /// At most `limit` entries; zero is no limit.
    #[must_use]
    pub const fn limit(mut self, limit: usize) -> Self {
        self.limit = NonZeroUsize::new(limit);
        self
    }

    /// Goes on where a page ended, at that page's revision.
    #[must_use]
    pub fn resume(mut self, cursor: Cursor) -> Self {
        self.at = Some(cursor.at);
        self.after = Some(cursor.after);
        self
    }

    /// Counts what lies behind the page.
    #[must_use]
    pub const fn counted(mut self) -> Self {
        self.count = true;
        self
    }
}

/// Entries in the order of their keys, all as of one revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The revision that the entries are the state of.
    pub at: Revision,
    /// The store's revision when it answered; `at` or later.
    pub current: Revision,
    /// The entries.
    pub entries: Vec<Arc<Entry>>,
    /// Where the next page begins; none if there is nothing behind this one.
    pub next: Option<Cursor>,
    /// How many entries lie behind this page, if the range asked.
    pub remaining: Option<u64>,
}

/// Where a page ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The revision of all pages of one list.
    pub at: Revision,
    /// The last key of the page.
    pub after: Key,
}
