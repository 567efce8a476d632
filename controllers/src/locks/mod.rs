//! Locks on names.

mod key;
mod keys;
mod line;
mod part;
mod waiters;

pub use key::{KeyError, KeyReader, KeyWriter, LockKey, key_of_name, name_of_key};
pub use waiters::Waiters;
