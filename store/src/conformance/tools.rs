//! Helpers of the behaviours.

use std::ops::Deref;
use std::sync::Arc;

use machinery_objects::Revision;

use super::subject::Subject;
use crate::{
    Backend, Change, Commit, CommitError, Conflict, Entry, Event, KeySpan, Limits, Page, Range, ReadError,
    Transaction, Watch, WatchError, WatchItem,
};

/// A backend; unexpected answers panic.
#[derive(Clone)]
pub(super) struct TestStore(pub(super) Arc<dyn Backend>);

/// Opens an empty store with the default limits.
pub(super) async fn fresh(subject: &mut dyn Subject) -> TestStore {
    TestStore(subject.open(Limits::default()).await)
}

pub(super) fn tx() -> Transaction {
    Transaction::new()
}

pub(super) fn bytes(text: &str) -> Arc<[u8]> {
    text.as_bytes().into()
}

impl Deref for TestStore {
    type Target = dyn Backend;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl TestStore {
    pub(super) async fn now(&self) -> Revision {
        self.revision().await.expect("the revision can be read")
    }

    pub(super) async fn done(&self, transaction: Transaction) -> Commit {
        self.commit(transaction).await.expect("the transaction is committed")
    }

    pub(super) async fn put(&self, key: &str, value: &str) -> Revision {
        let commit = self.done(tx().put(key, value.as_bytes())).await;
        assert!(commit.changed, "a put changes something");
        commit.revision
    }

    pub(super) async fn delete(&self, key: &str) -> Revision {
        let commit = self.done(tx().delete(key)).await;
        assert!(commit.changed, "`{key}` was there to be deleted");
        commit.revision
    }

    pub(super) async fn refused(&self, transaction: Transaction) -> CommitError {
        let before = self.now().await;
        let refused = self.commit(transaction).await.expect_err("the transaction is refused");
        assert_eq!(self.now().await, before, "what is refused takes no revision");
        refused
    }

    pub(super) async fn conflict(&self, transaction: Transaction) -> Conflict {
        match self.refused(transaction).await {
            CommitError::Conflict(conflict) => *conflict,
            other => panic!("a conflict is expected, and not: {other}"),
        }
    }

    pub(super) async fn page(&self, range: Range) -> Page {
        self.range(range).await.expect("the range can be read")
    }

    pub(super) async fn unreadable(&self, range: Range) -> ReadError {
        self.range(range).await.expect_err("the range cannot be read")
    }

    pub(super) async fn entry(&self, key: &str) -> Option<Arc<Entry>> {
        self.page(Range::of(KeySpan::one(key))).await.entries.pop()
    }

    /// Returns `key=value` of all entries with `prefix`.
    pub(super) async fn list(&self, prefix: &str) -> Vec<String> {
        texts(&self.page(Range::of(KeySpan::prefix(prefix))).await)
    }

    pub(super) async fn list_at(&self, prefix: &str, at: Revision) -> Vec<String> {
        let page = self.page(Range::of(KeySpan::prefix(prefix)).at(at)).await;
        assert_eq!(page.at, at, "a page is of the revision that was asked for");
        texts(&page)
    }

    pub(super) async fn follow(&self, span: KeySpan, after: Revision) -> WatchReader {
        WatchReader(self.watch(span, after).await.expect("the watch begins"))
    }

    /// Returns the error of a watch that must be refused, by the call or by its first item.
    pub(super) async fn unwatchable(&self, after: Revision) -> WatchError {
        match self.watch(KeySpan::all(), after).await {
            Err(error) => error,
            Ok(mut watch) => watch.next().await.expect_err("the watch cannot begin"),
        }
    }

    /// Compacts to `to`.
    pub(super) async fn compacted(&self, to: Revision) {
        self.compact(to).await.expect("the store compacts");
    }
}

/// Returns `key=value` of each entry of a page.
pub(super) fn texts(page: &Page) -> Vec<String> {
    page.entries.iter().map(|entry| text(entry)).collect()
}

fn text(entry: &Entry) -> String {
    format!("{}={}", entry.key, String::from_utf8_lossy(&entry.value))
}

/// A watch; unexpected answers panic.
pub(super) struct WatchReader(pub(super) Watch);

impl WatchReader {
    /// Returns the next changes and their revision.
    pub(super) async fn changes(&mut self) -> (Revision, Vec<Event>) {
        loop {
            match self.0.next().await.expect("the watch goes on") {
                WatchItem::Changes { revision, events } => return (revision, events),
                WatchItem::Progress(_) => {}
            }
        }
    }

    /// Returns the next changes as text (see [`describe`]).
    pub(super) async fn next(&mut self) -> (Revision, String) {
        let (revision, events) = self.changes().await;
        (revision, describe(&events))
    }

    /// Returns all changes up to `revision`: requests progress and reads until it is reached.
    pub(super) async fn until(&mut self, revision: Revision) -> Vec<(Revision, String)> {
        let mut all = Vec::new();
        self.0.request_progress();
        loop {
            match self.0.next().await.expect("the watch goes on") {
                WatchItem::Changes { revision, events } => all.push((revision, describe(&events))),
                WatchItem::Progress(mark) if mark >= revision => return all,
                WatchItem::Progress(_) => {}
            }
        }
    }

    /// Returns all changes up to `revision` or to the end of the watch, with its error.
    pub(super) async fn rest(mut self, revision: Revision) -> (Vec<(Revision, String)>, Option<WatchError>) {
        let mut all = Vec::new();
        self.0.request_progress();
        loop {
            match self.0.next().await {
                Ok(WatchItem::Changes { revision, events }) => all.push((revision, describe(&events))),
                Ok(WatchItem::Progress(mark)) if mark >= revision => return (all, None),
                Ok(WatchItem::Progress(_)) => {}
                Err(error) => return (all, Some(error)),
            }
        }
    }
}

/// Returns events as text: `+` created, `~` updated, `-` deleted.
pub(super) fn describe(events: &[Event]) -> String {
    let tell = |event: &Event| match &event.change {
        Change::Put(entry) if event.is_create() => format!("+{}", text(entry)),
        Change::Put(entry) => format!("~{}", text(entry)),
        Change::Deleted(key) => format!("-{key}"),
    };
    events.iter().map(tell).collect::<Vec<_>>().join(" ")
}
