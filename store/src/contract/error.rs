//! Errors of a backend, grouped by call.

use std::sync::Arc;

use machinery_objects::Revision;
use thiserror::Error;

use super::entry::Entry;
use super::key::Key;

/// An error of a read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The revision has been compacted.
    #[error(
        "revision {requested} is compacted: the oldest that can be read is {compacted}; read the newest, or one from there on"
    )]
    Compacted {
        /// The requested revision.
        requested: Revision,
        /// The oldest readable revision.
        compacted: Revision,
    },
    /// The revision is newer than the store's newest.
    #[error(
        "revision {requested} has not happened: the newest is {current}; was the store restored, or is this another one?"
    )]
    Future {
        /// The requested revision.
        requested: Revision,
        /// The newest revision.
        current: Revision,
    },
    /// The store is closed or cannot be reached.
    #[error("the store cannot be read: {why}")]
    Unavailable {
        /// The cause, and the remedy.
        why: Arc<str>,
    },
}

/// A condition that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Index of the first failed condition in [`Transaction::conditions`](crate::Transaction).
    pub condition: usize,
    /// The key of the condition.
    pub key: Key,
    /// The entry of the key when the condition was checked.
    pub current: Option<Arc<Entry>>,
    /// The store's revision when the condition was checked.
    pub revision: Revision,
}

/// An error of a commit. The transaction was not applied, except that for
/// [`Unknown`](Self::Unknown) it may have been.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CommitError {
    /// A condition does not hold. Read the entry and build a new transaction.
    #[error("`{}` is not as the transaction expects: {}; read it and decide again", .0.key, describe(.0.current.as_deref()))]
    Conflict(Box<Conflict>),
    /// The transaction has more conditions and operations than
    /// [`Limits::operations`](crate::Limits).
    #[error("the transaction has {count} conditions and operations, and {limit} is the limit: split it")]
    TooManyOperations {
        /// Number of conditions and operations.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// A key, a value or the whole transaction is too large.
    #[error("{what} has {bytes} bytes, and {limit} is the limit: store less, or raise the limit")]
    TooLarge {
        /// The part that is too large: `key`, `value` or `transaction`.
        what: &'static str,
        /// Size of the part.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// A key is empty.
    #[error("a key is empty: give it a name")]
    EmptyKey,
    /// Two operations change one key.
    #[error("`{key}` is changed twice in one transaction: keep one of the changes")]
    RepeatedKey {
        /// The key.
        key: Key,
    },
    /// The store has reached its quota. Deletes and compaction still work, and so do puts that use
    /// the reserve beyond it ([`Limits::quota_bytes`](crate::Limits)).
    #[error(
        "the store would hold {used} bytes and its quota is {quota}: delete, compact, or raise the quota"
    )]
    QuotaExceeded {
        /// Size of the store with this transaction.
        used: u64,
        /// The quota.
        quota: u64,
    },
    /// The store accepts no writes: it is closed, read-only, or a sync has failed. This transaction
    /// was not applied.
    #[error("the store takes no writes: {why}")]
    Refused {
        /// The cause, and the remedy.
        why: Arc<str>,
    },
    /// The outcome is unknown: the transaction may have been applied. Read before retrying.
    #[error("the transaction may or may not have happened: {why}; read before you try again")]
    Unknown {
        /// The cause.
        why: Arc<str>,
    },
}

/// An error that refuses or ends a watch.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WatchError {
    /// Changes after the start revision have been compacted.
    #[error(
        "changes after revision {after} are compacted up to {compacted}: list again, and watch from there"
    )]
    Compacted {
        /// The requested start revision.
        after: Revision,
        /// The compacted revision.
        compacted: Revision,
    },
    /// The revision is newer than the store's newest.
    #[error(
        "revision {after} has not happened: the newest is {current}; was the store restored, or is this another one?"
    )]
    Future {
        /// The requested start revision.
        after: Revision,
        /// The newest revision.
        current: Revision,
    },
    /// The watch was read too slowly: changes that it had not yet read were compacted, and they may
    /// have been in its span. A watch that has caught up never ends this way.
    #[error(
        "the watch was read up to {seen} when {compacted} was compacted: it is too slow; list again, and read faster"
    )]
    TooSlow {
        /// The last revision of which the watch has yielded every change.
        seen: Revision,
        /// The compacted revision.
        compacted: Revision,
    },
    /// The limit of concurrent watches is reached.
    #[error("{limit} watches run, and that is the limit: end some, or raise it")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// The store was closed or cannot be reached. Resume from the last revision seen.
    #[error("the watch ended: {why}; resume from the last revision seen")]
    Unavailable {
        /// The cause, and the remedy.
        why: Arc<str>,
    },
}

/// An error of a compaction.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CompactError {
    /// The revision is newer than the store's newest.
    #[error("revision {requested} has not happened: the newest is {current}")]
    Future {
        /// The requested revision.
        requested: Revision,
        /// The newest revision.
        current: Revision,
    },
    /// The store accepts no writes, and a compaction is one.
    #[error("the store takes no writes: {why}")]
    Refused {
        /// The cause, and the remedy.
        why: Arc<str>,
    },
    /// The outcome is unknown. The compaction can be retried.
    #[error("the compaction may or may not have happened: {why}; retry it")]
    Unknown {
        /// The cause.
        why: Arc<str>,
    },
}

fn describe(current: Option<&Entry>) -> String {
    current.map_or_else(|| "it is absent".into(), |entry| format!("it is at revision {}", entry.modified))
}
