//! Locks on names.

mod key;
mod keys;
mod part;

pub use key::{KeyError, KeyReader, KeyWriter, LockKey, key_of_name, name_of_key};
