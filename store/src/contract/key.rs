//! Keys, values, and sets of keys.

use std::sync::Arc;

/// The name of an entry: text, in byte order, of 1 to [`Limits::key_bytes`](crate::Limits) bytes.
pub type Key = Arc<str>;

/// What is stored under a key. The store never looks inside.
pub type Value = Arc<[u8]>;

/// The keys that a read or a watch is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeySpan {
    /// This key and no other.
    One(Key),
    /// Every key that begins with these bytes; all of them, if it is empty. `/pods/a` is a prefix of `/pods/ab`: who
    /// means a directory ends it with its separator.
    Prefix(Key),
}

impl KeySpan {
    /// One key.
    pub fn one(key: impl Into<Key>) -> Self {
        Self::One(key.into())
    }

    /// All keys that begin with `prefix`.
    pub fn prefix(prefix: impl Into<Key>) -> Self {
        Self::Prefix(prefix.into())
    }

    /// Every key.
    pub fn all() -> Self {
        Self::prefix("")
    }

    /// Whether `key` is in it.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        match self {
            Self::One(one) => **one == *key,
            Self::Prefix(prefix) => key.as_bytes().starts_with(prefix.as_bytes()),
        }
    }

    /// The key, or the prefix.
    #[must_use]
    pub fn text(&self) -> &Key {
        match self {
            Self::One(text) | Self::Prefix(text) => text,
        }
    }
}
