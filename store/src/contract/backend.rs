//! The [`Backend`] trait.

use async_trait::async_trait;
use machinery_objects::Revision;

use super::error::{CommitError, CompactError, ReadError, WatchError};
use super::key::KeySpan;
use super::range::{Page, Range};
use super::transaction::{Commit, Transaction};
use super::watch::Watch;

/// A store: keys with values, changed by transactions that each take a revision.
///
/// The suite in [`conformance`](crate::conformance) checks every implementation for these
/// guarantees:
///
/// - **Strictly serializable.** A commit takes effect between its call and its answer; a read
///   without a revision sees every commit that was acknowledged before it was called.
/// - **Durable before visible.** No read, watch or conflict shows a commit that the store could
///   still lose.
/// - **A revision is used once**, increases with each commit, and is never taken back, also over
///   crashes. A new store is at revision 1, before any commit, and is compacted up to it: no store
///   has revision 0.
/// - **Reads at a revision** return the same until the revision is compacted, and then an error.
/// - **Watches** are ordered, free of repetition and of gaps, whole per revision, and can be
///   resumed from any revision that is not compacted.
///
/// Dropping the future of a call cancels the waiting and not the work: a commit may still be
/// applied.
#[async_trait]
pub trait Backend: Send + Sync + 'static {
    /// Returns the newest readable revision.
    async fn revision(&self) -> Result<Revision, ReadError>;

    /// Reads entries as of one revision.
    async fn range(&self, range: Range) -> Result<Page, ReadError>;

    /// Applies `transaction` if all its conditions hold.
    async fn commit(&self, transaction: Transaction) -> Result<Commit, CommitError>;

    /// Watches `span` for changes after the revision `after`. A list at a revision and a watch
    /// after it have no gap between them.
    async fn watch(&self, span: KeySpan, after: Revision) -> Result<Watch, WatchError>;

    /// Drops the history before `to`: later reads below it and watches after a revision below it
    /// are refused. Reads at `to` and above are unaffected. Compacting to the compacted revision or
    /// below does nothing.
    async fn compact(&self, to: Revision) -> Result<(), CompactError>;
}
