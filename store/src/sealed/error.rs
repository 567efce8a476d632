//! Errors of sealed values.

use std::sync::Arc;

use thiserror::Error;

use crate::contract::{CommitError, Key, ReadError};

/// An error that prevents unsealing a value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UnsealError {
    /// The value is sealed by a key that the ring does not have.
    #[error(
        "`{key}` is sealed by the key {name:?}, which is not given for it: give that key again, after the first, until all values are resealed"
    )]
    MissingKey {
        /// The entry's key.
        key: Key,
        /// The name of the sealing key.
        name: Arc<str>,
    },
    /// The value does not authenticate under the key of this name.
    #[error(
        "`{key}` does not authenticate under the key {name:?}: it was changed or moved, or {name:?} is now another \
         secret; give the right key, or restore a snapshot"
    )]
    Changed {
        /// The entry's key.
        key: Key,
        /// The name of the sealing key.
        name: Arc<str>,
    },
    /// The value has the prefix of a sealed value and is truncated.
    #[error("`{key}` is a truncated sealed value: restore a snapshot")]
    Cut {
        /// The entry's key.
        key: Key,
    },
    /// The value is plain, and the ring has no [`Provider::Identity`](super::Provider::Identity).
    #[error("`{key}` is not sealed, and must be: put `identity` after the keys until all values are sealed")]
    NotSealed {
        /// The entry's key.
        key: Key,
    },
    /// A later version of this library sealed the value.
    #[error(
        "`{key}` is sealed in format {found}, and this version knows format 1: use the version that wrote it"
    )]
    LaterFormat {
        /// The entry's key.
        key: Key,
        /// The format number of the value.
        found: u8,
    },
}

/// An error of a [`SealingKey`](super::SealingKey) or [`KeyRing`](super::KeyRing).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyRingError {
    /// The secret has an invalid length.
    #[error("the key {name:?} has {bytes} bytes: give it 32, of randomness; 16 and 24 are taken, too")]
    Length {
        /// The name of the key.
        name: Arc<str>,
        /// The length in bytes.
        bytes: usize,
    },
    /// The name is empty or too long.
    #[error("a key's name has {bytes} bytes: give it 1 to {limit}")]
    Name {
        /// The length in bytes.
        bytes: usize,
        /// The maximum length in bytes.
        limit: usize,
    },
    /// Two keys have one name.
    #[error("two keys are called {name:?}: what is sealed has the name of its key; rename the newer one")]
    Repeated {
        /// The name.
        name: Arc<str>,
    },
    /// The ring has no provider.
    #[error("there is nothing to seal with: give a key, or `identity`")]
    Empty,
}

/// An error of [`Sealed::reseal`](super::Sealed::reseal). Entries that were already resealed stay
/// so.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ResealError {
    /// A value cannot be unsealed. If it could not before the call, no entry was rewritten.
    #[error(transparent)]
    Unseal(#[from] UnsealError),
    /// The store cannot be read.
    #[error("the values to reseal cannot be read: {0}")]
    Read(#[from] ReadError),
    /// A value cannot be written.
    #[error("`{key}` cannot be resealed: {error}")]
    Write {
        /// The entry's key.
        key: Key,
        /// The cause.
        error: CommitError,
    },
    /// Another server keeps writing the entry with another key.
    #[error(
        "`{key}` was written by another server in each of {times} attempts to reseal it: give all servers the same keys, in the same order"
    )]
    Overtaken {
        /// The entry's key.
        key: Key,
        /// The number of attempts.
        times: usize,
    },
}
