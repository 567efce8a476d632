//! The in-memory backend: the core without persistence.

use std::sync::Arc;

use async_trait::async_trait;
use machinery_objects::Revision;
use machinery_sync::Mutex;
use tokio::time::Instant;

use crate::contract::{
    Backend, Commit, CommitError, CompactError, KeySpan, Page, Range, ReadError, Transaction, Watch,
    WatchError,
};
use crate::core::{ChangeHistory, Core, RetentionTracker, Table, View, check};
use crate::options::{Options, Usage};
use crate::shared::Shared;

/// The revision of a store before its first commit.
pub(crate) const FIRST: Revision = Revision(1);

/// An in-memory [`Backend`]. Its watches end when the last clone is dropped.
#[derive(Clone)]
pub struct Memory(Arc<Inner>);

struct Inner {
    writing: Mutex<WriterState>,
    shared: Arc<Shared>,
    options: Options,
}

/// The writer's state. Lock order: before [`Shared`]'s published state.
struct WriterState {
    core: Core,
    retaining: RetentionTracker,
}

impl Memory {
    /// Creates an empty store at revision 1.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let options = Options { limits: options.limits.clamped_to_format(), ..options };
        let table = Arc::new(Table::new(options.seed));
        let core = Core::new(Arc::clone(&table), FIRST, &options.limits);
        let shared = Shared::new(table, ChangeHistory::new(FIRST), 0, options.limits, options.seed);
        let writing = Mutex::new(WriterState { core, retaining: RetentionTracker::new(options.retention) });
        Self(Arc::new(Inner { writing, shared, options }))
    }

    /// Returns the size of the store.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.0.shared.usage()
    }

    /// Returns a snapshot of the table and its revision.
    pub(crate) fn view(&self) -> (View, Revision) {
        let _nothing_is_written = self.0.writing.lock();
        (self.0.shared.table().view(), self.0.shared.current())
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0.shared
    }
}

impl Inner {
    fn commit(&self, transaction: Transaction) -> Result<Commit, CommitError> {
        check(&transaction, &self.options.limits)?;
        let mut writing = self.writing.lock();
        let WriterState { core, retaining } = &mut *writing;
        let (answer, revised) = match core.apply(transaction) {
            Ok(applied) => (Ok(applied.commit), applied.revised),
            Err(error) => (Err(error), None),
        };
        let wakes = self.shared.publish(revised);
        // Also after a refusal: compaction may free the quota that the transaction exceeded.
        if !retaining.is_manual() {
            let by_policy = retaining.step(Instant::now(), core.head(), self.shared.compacted());
            let to = by_policy.max(self.shared.oldest_with(retaining.excess(core.history_bytes())));
            if let Some(to) = to {
                self.shared.compact_in_steps(to, |gone| core.forget(gone));
            }
        }
        self.shared.note_used(core.used());
        // A waker is code of its executor, and may use the store: no lock is held.
        drop(writing);
        wakes.wake();
        answer
    }

    fn compact(&self, to: Revision) -> Result<(), CompactError> {
        let mut writing = self.writing.lock();
        let (core, current) = (&mut writing.core, self.shared.current());
        if to > current {
            return Err(CompactError::Future { requested: to, current });
        }
        self.shared.compact_in_steps(to, |gone| core.forget(gone));
        self.shared.note_used(core.used());
        Ok(())
    }
}

#[async_trait]
impl Backend for Memory {
    async fn revision(&self) -> Result<Revision, ReadError> {
        self.0.shared.revision()
    }

    async fn range(&self, range: Range) -> Result<Page, ReadError> {
        self.0.shared.range(range).await
    }

    async fn commit(&self, transaction: Transaction) -> Result<Commit, CommitError> {
        self.0.commit(transaction)
    }

    async fn watch(&self, span: KeySpan, after: Revision) -> Result<Watch, WatchError> {
        self.0.shared.watch(span, after)
    }

    async fn compact(&self, to: Revision) -> Result<(), CompactError> {
        self.0.compact(to)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.close(&Arc::from("the store was dropped"));
    }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory").field("revision", &self.0.shared.current()).finish_non_exhaustive()
    }
}
