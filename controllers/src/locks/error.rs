//! What can go wrong with locks.

use machinery_objects::{ListError, ObjectKey, WriteError};

use super::KeyError;

/// Why it is not known whose a name is, or not done what was to be done with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// The key has no name.
    #[error("this cannot be locked: {0}")]
    Key(#[from] KeyError),
    /// The owner cannot own a lock.
    #[error("{key} cannot own a lock: {reason}")]
    Owner {
        /// Which.
        key: ObjectKey,
        /// Why not.
        reason: &'static str,
    },
    /// The program's function made a lock with another name, or of another owner, than it was told.
    #[error("the lock that was made for {name} says otherwise: it was not written")]
    Made {
        /// As it is to be called.
        name: ObjectKey,
    },
    /// The source handed out a lock that has no UID or version.
    #[error("{name} was read without UID or version, and can be nobody's lock")]
    Unstamped {
        /// Which.
        name: ObjectKey,
    },
    /// The lock comes and goes so fast that one is always late: try again.
    #[error("{name} is there when it is made, and gone when it is looked at: try again later")]
    Unsettled {
        /// Which.
        name: ObjectKey,
    },
    /// It cannot be seen who has it.
    #[error("it is not known who has the name: {0}")]
    Read(#[from] ListError),
    /// The lock cannot be written.
    #[error("the lock was not written: {0}")]
    Write(#[from] WriteError),
}
