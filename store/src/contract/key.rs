//! Keys, values, and sets of keys.

use std::sync::Arc;

/// The key of an entry: text of 1 to [`Limits::key_bytes`](crate::Limits) bytes, in byte order.
pub type Key = Arc<str>;

/// The value of an entry. The store does not interpret it.
pub type Value = Arc<[u8]>;

/// The keys that a read or a watch covers: one key, or a prefix.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeySpan {
    /// One key.
    One(Key),
    /// All keys that begin with these bytes; every key, if empty. `/pods/a` is a prefix of
    /// `/pods/ab`, so a directory prefix must end with its separator.
    Prefix(Key),
}

impl KeySpan {
    /// Returns the span of one key.
    pub fn one(key: impl Into<Key>) -> Self {
        Self::One(key.into())
    }

    /// Returns the span of all keys that begin with `prefix`.
    pub fn prefix(prefix: impl Into<Key>) -> Self {
        Self::Prefix(prefix.into())
    }

    /// Returns the span of every key.
    pub fn all() -> Self {
        Self::prefix("")
    }

    /// Returns whether the span contains `key`.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        match self {
            Self::One(one) => **one == *key,
            Self::Prefix(prefix) => key.as_bytes().starts_with(prefix.as_bytes()),
        }
    }

    /// Returns the key or the prefix.
    #[must_use]
    pub fn text(&self) -> &Key {
        match self {
            Self::One(text) | Self::Prefix(text) => text,
        }
    }
}
