//! Errors of name locks.

use machinery_objects::{Kind, ListError, ObjectKey, WriteError};

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

/// The scopes of locks and owners do not fit: no owner could own a lock.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LockScopeError {
    /// The locks are cluster-scoped, and the owners are in namespaces.
    #[error(
        "{owners} are in namespaces and cannot own {locks}, which are cluster-scoped: garbage collection finds no \
         owner in a namespace. Make the locks namespaced, or the owners cluster-scoped; a guard of the kind \
         (KindOf::guard) keeps names unique across namespaces"
    )]
    ClusterScopedLocks {
        /// Kind of the locks.
        locks: Kind,
        /// Kind of the owners.
        owners: Kind,
    },
    /// The locks are in namespaces, the owners are not, and no namespace is configured.
    #[error(
        "{owners} are cluster-scoped, and {locks} are in namespaces: name one namespace for all locks \
         (Plane::name_locks_in, LocksBuilder::namespace), or make the locks cluster-scoped"
    )]
    NoNamespace {
        /// Kind of the locks.
        locks: Kind,
        /// Kind of the owners.
        owners: Kind,
    },
}
