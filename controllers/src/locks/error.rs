//! Errors of name locks.

use machinery_objects::{ListError, ObjectKey, WriteError};

use super::KeyError;

/// Error of a claim, release or recovery.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// The key has no valid name.
    #[error("this cannot be locked: {0}")]
    Key(#[from] KeyError),
    /// The object cannot own a lock.
    #[error("{key} cannot own a lock: {reason}")]
    Owner {
        /// Key of the object.
        key: ObjectKey,
        /// Reason, for users.
        reason: &'static str,
    },
    /// The `make` function returned a lock with another name or owner than requested.
    #[error("the lock made for {name} has another name or owner: it was not written")]
    Made {
        /// The requested name.
        name: ObjectKey,
    },
    /// The source returned a lock without UID or version.
    #[error("{name} was read without UID or version, and cannot be a lock")]
    Unstamped {
        /// Name of the lock.
        name: ObjectKey,
    },
    /// The lock was created and deleted by others during every attempt: retry later.
    #[error("{name} was created and deleted by others in each attempt: try again later")]
    Unsettled {
        /// Name of the lock.
        name: ObjectKey,
    },
    /// The lock cannot be read.
    #[error("the lock was not read: {0}")]
    Read(#[from] ListError),
    /// The lock cannot be written.
    #[error("the lock was not written: {0}")]
    Write(#[from] WriteError),
}
