//! Locks, atomics, a waiter list and a swappable pointer: what loom must see. And calls that may panic.
//!
//! Everything here has two bodies behind one name. In production it is parking_lot, std and arc-swap. Under the
//! private `--cfg machinery_loom` it is loom, so that a test explores every interleaving of the code that ships and
//! not of a copy of it. (Not `--cfg loom`: that one reaches every dependency and takes `tokio::net` away.)
//!
//! # What it promises
//!
//! 1. **One name, two bodies**: code written against this crate compiles unchanged under loom; the crate's own loom
//!    tests drive each type (`tests/loom.rs`).
//! 2. **No wake is lost**: a [`Listener`] that exists when [`Notify::notify_one`] is called is woken by that call, or
//!    one that came before it is (`loom_a_listener_registered_before_the_change_is_woken`).
//! 3. **A wake is passed on**: a listener dropped after it was woken, and before it saw that, wakes the next one
//!    (`loom_a_dropped_listener_passes_its_wake_on`, `a_dropped_listener_passes_its_wake_on`).
//! 4. **Fair**: listeners are woken in the order in which they began to listen (`wakes_in_order`).
//! 5. **A reader of [`Swap`] sees a whole value**, old or new, and never goes back (`loom_a_swap_is_seen_whole`).
//! 6. **A panic in [`contained`] goes nowhere**, nor does one of what it panicked with (`a_panic_is_contained`).
//!
//! # What it does not do
//!
//! No channels, no semaphores, no timers, no spawning: tokio has them. No poisoning: a panic under a lock leaves the
//! lock usable, and whoever guards state that can be torn must say so. No permits: [`Notify`] remembers nothing, the
//! condition belongs to whoever waits for it.
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
//!         self.changed.notify_all();       // then tell
//!     }
//!     async fn pass(&self) {
//!         loop {
//!             let listener = self.changed.listen();      // listen first,
//!             if *self.open.lock() { return }            // then look,
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
mod notify;

pub use body::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, Swap, atomic, lock_with_spin};
pub use contained::{Panic, contained};
pub use notify::{Listener, Notify};
