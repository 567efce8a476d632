//! The contract of every backend: the trait, its requests, answers and errors.

mod backend;
mod entry;
mod error;
mod key;
mod limits;
mod range;
mod transaction;
mod watch;

pub use backend::Backend;
pub use entry::{Change, Entry, Event};
pub use error::{CommitError, CompactError, Conflict, ReadError, WatchError};
pub use key::{Key, KeySpan, Value};
pub use limits::Limits;
pub use range::{Cursor, Page, Range};
pub use transaction::{Commit, Condition, Operation, Transaction};
pub use watch::{Watch, WatchItem, WatchStream};
