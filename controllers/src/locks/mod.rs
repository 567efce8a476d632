//! Name locks: claim, release, recovery and wait queues.

mod claim;
mod counts;
mod error;
mod held_lock;
mod holder;
mod key;
mod key_part;
mod keys;
mod name_locks;
mod recover;
mod wait_queue;
mod waiters;
mod wake;
mod wake_status;

pub use counts::LockCounts;
#[cfg(feature = "prometheus")]
pub(crate) use counts::LockSample;
pub use error::{LockError, LockScopeError};
pub use held_lock::{Claim, HeldLock, LockHolder, NoFences, Released};
pub use key::{KeyError, KeyReader, KeyWriter, LockKey, key_of_name, name_of_key};
pub use name_locks::{LockKinds, LocksBuilder, NameLocks};
pub use recover::{StrayLock, StrayReason};
pub use waiters::Waiters;
