//! Locks on names.

mod claim;
mod counts;
mod error;
mod held;
mod holder;
mod key;
mod keys;
mod line;
mod names;
mod part;
mod recover;
mod waiters;
mod wake;

pub use counts::LockCounts;
#[cfg(feature = "prometheus")]
pub(crate) use counts::Locked;
pub use error::LockError;
pub use held::{Claim, Held, NoFences, Released, Taken};
pub use key::{KeyError, KeyReader, KeyWriter, LockKey, key_of_name, name_of_key};
pub use names::{Locking, LocksBuilder, NameLocks};
pub use recover::{Astray, Stray};
pub use waiters::Waiters;
