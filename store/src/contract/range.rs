//! Reads of several entries at one revision, page by page.

use std::num::NonZeroUsize;
use std::sync::Arc;

use machinery_objects::Revision;

use super::entry::Entry;
use super::key::{Key, KeySpan};

/// A read request: keys, revision and page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The keys to read.
    pub span: KeySpan,
    /// The revision to read at; `None` reads the newest, which includes every commit acknowledged
    /// before the call.
    pub at: Option<Revision>,
    /// Starts after this key.
    pub after: Option<Key>,
    /// Maximum number of entries.
    pub limit: Option<NonZeroUsize>,
    /// Whether to count the entries after the page, which costs a walk over them.
    pub count: bool,
}

impl Range {
    /// Reads all entries of `span` at the newest revision, in one page.
    #[must_use]
    pub const fn of(span: KeySpan) -> Self {
        Self { span, at: None, after: None, limit: None, count: false }
    }

    /// Reads at `revision`.
    #[must_use]
    pub const fn at(mut self, revision: Revision) -> Self {
        self.at = Some(revision);
        self
    }

    /// Limits the page to `limit` entries; zero means no limit.
    #[must_use]
    pub const fn limit(mut self, limit: usize) -> Self {
        self.limit = NonZeroUsize::new(limit);
        self
    }

    /// Continues after a page, at that page's revision.
    #[must_use]
    pub fn resume(mut self, cursor: Cursor) -> Self {
        self.at = Some(cursor.at);
        self.after = Some(cursor.after);
        self
    }

    /// Counts the entries after the page.
    #[must_use]
    pub const fn counted(mut self) -> Self {
        self.count = true;
        self
    }
}

/// Entries in key order, all at one revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The revision of the entries.
    pub at: Revision,
    /// The store's newest revision when the page was read; `at` or later.
    pub current: Revision,
    /// The entries.
    pub entries: Vec<Arc<Entry>>,
    /// The cursor of the next page; `None` on the last page.
    pub next: Option<Cursor>,
    /// Number of entries after this page, if requested.
    pub remaining: Option<u64>,
}

/// The position after a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The revision of all pages of one list.
    pub at: Revision,
    /// The last key of the page.
    pub after: Key,
}
