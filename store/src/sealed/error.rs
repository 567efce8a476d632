//! What can go wrong with sealed values.

use std::sync::Arc;

use thiserror::Error;

use crate::contract::{CommitError, Key, ReadError};

/// Why a value cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UnsealError {
    /// It is sealed by a key that is not given.
    #[error(
        "`{key}` is sealed by the key {name:?}, which is not given for it: give that key again, behind the first, until all is sealed anew"
    )]
    MissingKey {
        /// The entry.
        key: Key,
        /// The name of the sealing key.
        name: Arc<str>,
    },
    /// It is not what was sealed there by the key of this name.
    #[error(
        "`{key}` is not what was sealed there by the key {name:?}: it was changed or put there from elsewhere, or {name:?} is not the key that it \
         was; give the right key, or restore a snapshot"
    )]
    Changed {
        /// The entry.
        key: Key,
        /// The name of the sealing key.
        name: Arc<str>,
    },
    /// It begins like a sealed value, and is none.
    #[error("`{key}` begins like a sealed value and is cut: restore a snapshot")]
    Cut {
        /// The entry.
        key: Key,
    },
    /// It is not sealed, where only sealed values are read.
    #[error(
        "`{key}` is not sealed, and must be: let it be read by `identity` behind the keys, until all is sealed"
    )]
    NotSealed {
        /// The entry.
        key: Key,
    },
    /// A later version wrote it.
    #[error(
        "`{key}` is sealed in format {found}, and this version knows format 1: use the version that wrote it"
    )]
    LaterFormat {
        /// The entry.
        key: Key,
        /// Its format.
        found: u8,
    },
}

/// Why keys were not taken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyRingError {
    /// A sealing key of this many bytes.
    #[error("the key {name:?} has {bytes} bytes: give it 32, of randomness; 16 and 24 are taken, too")]
    Length {
        /// Its name.
        name: Arc<str>,
        /// How many it has.
        bytes: usize,
    },
    /// A name that is empty or too long.
    #[error("a key's name has {bytes} bytes: give it 1 to {limit}")]
    Name {
        /// How many it has.
        bytes: usize,
        /// How many it may have.
        limit: usize,
    },
    /// Two keys of one name.
    #[error("two keys are called {name:?}: what is sealed has the name of its key; rename the newer one")]
    Repeated {
        /// The name.
        name: Arc<str>,
    },
    /// Neither a key, nor leave to do without.
    #[error("there is nothing to seal with: give a key, or `identity`")]
    Empty,
}

/// Why not all was sealed anew. What was, stays so.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ResealError {
    /// A value cannot be opened. If it was so from the beginning, nothing was rewritten.
    #[error(transparent)]
    Unseal(#[from] UnsealError),
    /// The store cannot be read.
    #[error("the values that are to be sealed cannot be read: {0}")]
    Read(#[from] ReadError),
    /// A value cannot be written.
    #[error("`{key}` cannot be sealed anew: {error}")]
    Write {
        /// The entry.
        key: Key,
        /// Why.
        error: CommitError,
    },
    /// Somebody else writes an entry all the time, and seals it otherwise.
    #[error(
        "`{key}` was written by others {times} times while it was to be sealed anew: give all servers the same keys, in the same order"
    )]
    Overtaken {
        /// The entry.
        key: Key,
        /// How often.
        times: usize,
    },
}
