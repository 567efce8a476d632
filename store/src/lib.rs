//! A transactional key-value store with revisions and watches.

#[cfg(feature = "testing")]
pub mod conformance;
#[cfg(feature = "testing")]
pub mod faulty;

mod contract;
pub mod files;

pub use contract::{
    Backend, Change, Commit, CommitError, CompactError, Condition, Conflict, Cursor, Entry, Event, Key, Limits,
    Operation, Page, Range, ReadError, Seen, Span, Transaction, Value, Watch, WatchError, Watching,
};
