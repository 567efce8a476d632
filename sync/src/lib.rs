//! Locks, atomics, a waiter list and a swappable pointer, checked by loom; and calls that contain
//! panics.
//!
//! Every type has two implementations behind one name. In production it is parking_lot, std and
//! arc-swap. With the private `--cfg machinery_loom` it is loom, so that a test explores every
//! interleaving of the production code and not of a copy. (Not `--cfg loom`: that one reaches every
//! dependency and removes `tokio::net`.)
//!
//! # Promises
//!
//! Each row names its tests, in `tests/`; those with the prefix `loom_` are in `tests/loom.rs`.
//!
//! | # | claim | tests |
//! |---|---|---|
//! | 1 | Code written against this crate compiles unchanged under loom | `loom.rs` |
//! | 2 | No wake is lost, if a [`Listener`] exists before [`Notify::notify_one`] | below |
//! | 3 | A wake of a listener that is dropped unfinished is passed to the next one | below |
//! | 4 | Fair: listeners are woken in the order of [`Notify::listen`] | `wakes_in_order` |
//! | 5 | A reader of [`Swap`] sees a whole value, old or new, never an older one | below |
//! | 6 | A panic in [`contained`] is contained, also that of its payload | `a_panic_is_contained` |
//! | 7 | `explore` (feature `testing`) visits every interleaving of a model, once | `explore.rs` |
//!
//! - 2: `loom_a_listener_registered_before_the_change_is_woken`.
//! - 3: `loom_a_dropped_listener_passes_its_wake_on`, `a_dropped_listener_passes_its_wake_on`.
//! - 5: `loom_a_swap_is_seen_whole`.
//!
//! # Non-goals
//!
//! No channels, semaphores, timers or spawning: tokio has them. No poisoning: a panic under a lock
//! leaves the lock usable, and state that can be torn needs its own flag. No permits: [`Notify`]
//! stores none, the condition belongs to the waiter.
//!
//! # Example
//!
//! ```
//! use machinery_sync::{Mutex, Notify};
//!
//! struct Gate { open: Mutex<bool>, changed: Notify }
//!
//! impl Gate {
//!     fn open(&self) {
//!         *self.open.lock() = true;        // change the condition,
//!         self.changed.notify_all();       // then notify
//!     }
//!     async fn pass(&self) {
//!         loop {
//!             let listener = self.changed.listen();      // listen first,
//!             if *self.open.lock() { return }            // then check,
//!             listener.await;                            // then wait
//!         }
//!     }
//! }
//!
//! let gate = Gate { open: Mutex::new(false), changed: Notify::new() };
//! gate.open();
//! futures::executor::block_on(gate.pass());
//! ```

#[cfg(not(machinery_loom))]
mod real;
#[cfg(not(machinery_loom))]
use real as body;

#[cfg(machinery_loom)]
mod loomed;
#[cfg(machinery_loom)]
use loomed as body;

mod contained;
#[cfg(any(test, feature = "testing"))]
pub mod explore;
mod notify;

pub use body::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, Swap, atomic, lock_with_spin};
pub use contained::{Panic, contained};
pub use notify::{Listener, Notify};
