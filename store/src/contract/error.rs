//! What can go wrong, by what the caller can do about it.

use std::sync::Arc;

use machinery_objects::Revision;
use thiserror::Error;

use super::entry::Entry;
use super::key::Key;

/// Why a read was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The revision has been compacted.
    #[error(
        "revision {requested} is compacted: the oldest that can be read is {compacted}; read the newest, or one from there on"
    )]
    Compacted {
        /// What was requested for.
        requested: Revision,
        /// The oldest that can be read.
        compacted: Revision,
    },
    /// The revision has not happened.
    #[error(
        "revision {requested} has not happened: the newest is {current}; was the store restored, or is this another one?"
    )]
    Future {
        /// What was requested for.
        requested: Revision,
        /// The newest.
        current: Revision,
    },
    /// The store is closed, or cannot be reached; the text says why.
    #[error("the store cannot be read: {why}")]
    Unavailable {
        /// Why, and what to do.
        why: Arc<str>,
    },
}

/// A condition that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Which one: the first that failed, by its place in [`Transaction::conditions`](crate::Transaction).
    pub condition: usize,
    /// Its key.
    pub key: Key,
    /// What the key was when the condition was looked at.
    pub current: Option<Arc<Entry>>,
    /// The store's revision then.
    pub revision: Revision,
}

/// Why a transaction did not happen; or, for [`Unknown`](Self::Unknown), may have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CommitError {
    /// A condition does not hold. Look at what is there, and decide anew.
    #[error("`{}` is not as the transaction expects: {}; read it and decide anew", .0.key, describe(.0.current.as_deref()))]
    Conflict(Box<Conflict>),
    /// More conditions, puts and deletes than one transaction may have.
    #[error("the transaction has {count} conditions and operations, and {limit} is the limit: split it")]
    TooManyOperations {
        /// How many it has.
        count: usize,
        /// How many it may have.
        limit: usize,
    },
    /// A key, a value or the whole is too large.
    #[error("{what} has {bytes} bytes, and {limit} is the limit: store less, or raise the limit")]
    TooLarge {
        /// What is too large: `key`, `value`, `transaction`.
        what: &'static str,
        /// How large it is.
        bytes: usize,
        /// How large it may be.
        limit: usize,
    },
    /// A key that is empty.
    #[error("a key is empty: give it a name")]
    EmptyKey,
    /// One key is changed twice.
    #[error("`{key}` is changed twice in one transaction: keep one of the changes")]
    RepeatedKey {
        /// The key.
        key: Key,
    },
    /// The store holds as much as it may. Deletes and compaction still work, and so do, for a while, puts that hardly grow what is there
    /// ([`Limits::quota_bytes`](crate::Limits)).
    #[error(
        "the store would hold {used} bytes and its quota is {quota}: delete, compact, or raise the quota"
    )]
    QuotaExceeded {
        /// Bytes that the store would hold.
        used: u64,
        /// Bytes that it may hold.
        quota: u64,
    },
    /// The store takes no writes (closed, read-only, or a sync failed before). This transaction did not happen.
    #[error("the store takes no writes: {why}")]
    Refused {
        /// Why, and what to do.
        why: Arc<str>,
    },
    /// Whether the transaction happened is not known. Read before you try again.
    #[error("the transaction may or may not have happened: {why}; read before you try again")]
    Unknown {
        /// What failed.
        why: Arc<str>,
    },
}

/// Why a watch did not begin, or ended.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WatchError {
    /// What the watch was to begin with has been compacted.
    #[error(
        "changes after revision {after} are compacted up to {compacted}: list again, and watch from there"
    )]
    Compacted {
        /// After which it was to begin.
        after: Revision,
        /// What is compacted.
        compacted: Revision,
    },
    /// The revision has not happened.
    #[error(
        "revision {after} has not happened: the newest is {current}; was the store restored, or is this another one?"
    )]
    Future {
        /// After which it was to begin.
        after: Revision,
        /// The newest.
        current: Revision,
    },
    /// The watch was read too slowly: changes that it had not looked at were compacted. That they were none of its span is
    /// not known any more. A watch that had caught up is never ended so.
    #[error(
        "the watch was read up to {seen} when {compacted} was compacted: it is too slow; list again, and read faster"
    )]
    TooSlow {
        /// The last revision that it is known to have seen all of.
        seen: Revision,
        /// What was compacted.
        compacted: Revision,
    },
    /// As many watches run as may.
    #[error("{limit} watches run, and that is the limit: end some, or raise it")]
    TooMany {
        /// How many may run.
        limit: usize,
    },
    /// The store was closed, or cannot be reached. Resume from the last revision seen.
    #[error("the watch ended: {why}; resume from the last revision seen")]
    Unavailable {
        /// Why, and what to do.
        why: Arc<str>,
    },
}

/// Why a compaction did not happen.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CompactError {
    /// The revision has not happened.
    #[error("revision {requested} has not happened: the newest is {current}")]
    Future {
        /// What was requested for.
        requested: Revision,
        /// The newest.
        current: Revision,
    },
    /// The store takes no writes, and a compaction is one.
    #[error("the store takes no writes: {why}")]
    Refused {
        /// Why, and what to do.
        why: Arc<str>,
    },
    /// Whether the compaction happened is not known. It may be requested for again.
    #[error("the compaction may or may not have happened: {why}; ask again")]
    Unknown {
        /// What failed.
        why: Arc<str>,
    },
}

fn describe(current: Option<&Entry>) -> String {
    current.map_or_else(|| "it is absent".into(), |entry| format!("it is at revision {}", entry.modified))
}
