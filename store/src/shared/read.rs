//! Reads at a published revision.

use std::ops::Bound;
use std::sync::Arc;

use machinery_objects::Revision;
use tokio::task::yield_now;

use super::publish::Shared;
use crate::contract::{Cursor, Entry, KeySpan, Page, Range, ReadError};

/// Entries scanned between yields to other tasks.
const STEP: usize = 4096;

impl Shared {
    /// Returns the newest revision, if the store is open.
    pub(crate) fn revision(&self) -> Result<Revision, ReadError> {
        match self.closed() {
            Some(why) => Err(ReadError::Unavailable { why }),
            None => Ok(self.current()),
        }
    }

    /// Reads one page.
    pub(crate) async fn range(&self, range: Range) -> Result<Page, ReadError> {
        loop {
            if let Some(why) = self.closed() {
                return Err(ReadError::Unavailable { why });
            }
            let current = self.current();
            let at = range.at.unwrap_or(current);
            if at > current {
                return Err(ReadError::Future { requested: at, current });
            }
            let page = self.page(&range, at, current).await;
            // After the read: a compaction meanwhile may have cut versions that the page needed.
            let compacted = self.compacted();
            if at >= compacted {
                return Ok(page);
            }
            if range.at.is_some() {
                return Err(ReadError::Compacted { requested: at, compacted });
            }
            // The newest revision was compacted during the read, so there is a newer one: retry.
        }
    }

    async fn page(&self, range: &Range, at: Revision, current: Revision) -> Page {
        let mut page =
            Page { at, current, entries: Vec::new(), next: None, remaining: range.count.then_some(0) };
        let limit = range.limit.map_or(usize::MAX, usize::from);
        match &range.span {
            KeySpan::One(key) => {
                let behind = range.after.as_ref().is_some_and(|after| after >= key);
                page.entries.extend(if behind { None } else { self.one(key, at) });
            }
            KeySpan::Prefix(prefix) => self.prefix(prefix, range.after.as_deref(), limit, &mut page).await,
        }
        page
    }

    fn one(&self, key: &str, at: Revision) -> Option<Arc<Entry>> {
        self.table.newest(key)?.at(at)?.entry().cloned()
    }

    async fn prefix(&self, prefix: &str, after: Option<&str>, limit: usize, page: &mut Page) {
        let start = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        // A snapshot for the whole scan, which no writer waits for.
        let view = self.table.view();
        for (seen, newest) in view.from(start).enumerate() {
            if !newest.key().as_bytes().starts_with(prefix.as_bytes()) {
                break;
            }
            if seen % STEP == STEP - 1 {
                yield_now().await;
            }
            let Some(version) = newest.at(page.at) else { continue };
            let Some(entry) = version.entry() else { continue };
            if page.entries.len() < limit {
                page.entries.push(Arc::clone(entry));
                continue;
            }
            if page.next.is_none() {
                let after = page.entries.last().map(|last| Arc::clone(&last.key));
                page.next = after.map(|after| Cursor { at: page.at, after });
            }
            match &mut page.remaining {
                Some(remaining) => *remaining += 1,
                None => break,
            }
        }
    }
}
