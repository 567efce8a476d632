//! The trait.

use async_trait::async_trait;
use machinery_objects::Revision;

use super::error::{CommitError, CompactError, ReadError, WatchError};
use super::key::KeySpan;
use super::range::{Page, Range};
use super::transaction::{Commit, Transaction};
use super::watch::Watch;

/// A store: keys with values, changed by transactions that each take a revision.
///
/// Every implementation passes the suite in [`conformance`](crate::conformance); what is said here is what it checks.
///
/// - **Strictly serializable.** A commit takes effect between its call and its answer; a read without a revision sees every
///   commit that was acknowledged before it was called.
/// - **Durable before visible.** No read, watch or refusal tells of a commit that the store could still lose.
/// - **A revision is used once**, rises with each commit, and is never taken back, also over crashes. A new store is at
///   revision 1, before any commit, and compacted to there: revision 0 is of no store.
/// - **Reads at a revision** answer the same for ever, until it is compacted, and then refuse.
/// - **Watches** are ordered, free of repetition and of gaps, whole per revision, and can be resumed from any revision
///   that is not compacted.
///
/// Dropping the future of any call cancels the waiting and not the work: a commit may still happen.
#[async_trait]
pub trait Backend: Send + Sync + 'static {
    /// The newest revision that can be read.
    async fn revision(&self) -> Result<Revision, ReadError>;

    /// Reads entries as of one revision.
    async fn range(&self, range: Range) -> Result<Page, ReadError>;

    /// Makes the changes of `transaction` if its conditions hold.
    async fn commit(&self, transaction: Transaction) -> Result<Commit, CommitError>;

    /// Yields every change to `span` after the revision `after`, and goes on as they happen. A list at a revision and a
    /// watch after it leave nothing out.
    async fn watch(&self, span: KeySpan, after: Revision) -> Result<Watch, WatchError>;

    /// Gives up all that was before `to`: reads below it and watches after a revision below it are refused from then on.
    /// What can be read at `to` and later is untouched. Compacting to where it was compacted already does nothing.
    async fn compact(&self, to: Revision) -> Result<(), CompactError>;
}
