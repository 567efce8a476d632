//! A work queue of keys: each key is queued once and processed by one worker at a time.
//!
//! Event handlers add the key of each object that changed. Workers take keys, read the current
//! state and reconcile it. Ten changes of an object before a worker takes its key cause one run; a
//! change during the run causes one more. The crate has no dependency on Kubernetes, networks or
//! storage.
//!
//! # Promises
//!
//! A test belongs to promise *n* if its name begins with `p`*nn*`_` (in `tests/it/`). Other tests
//! of a promise are listed below the table; those in `tests/loom.rs` run every interleaving of
//! three or four threads. `the_queue_is_the_model` compares the queue with a naive model over
//! 12 000 random sequences of operations: every result, every key and its order, without waiters.
//!
//! | # | claim | tests |
//! |---|---|---|
//! | 1 | Deduplicated: a key added many times before a hand-out is handed out once | `p01_` |
//! | 2 | Exclusive: at most one [`Work`] exists per key | `p02_`, loom |
//! | 3 | Nothing lost: a key added while in flight runs again after completion | `p03_`, loom |
//! | 4 | One entry per key, ready or delayed; the earliest time wins | `p04_`, loom |
//! | 5 | Fair: FIFO within a [`Priority`], aging between priorities, tenant turns | `p05_` |
//! | 6 | Guarded: a [`Work`] dropped without completion is retried | `p06_`, `dropping.rs`, loom |
//! | 7 | Back-off per key: exponential, with jitter, cap and a limit of tries | `p07_` |
//! | 8 | [`Queue::drain`] waits for all runs due before its deadline | `p08_`, `end.rs`, loom |
//! | 9 | Causes survive merging and failure; merged by name, four per key | `p09_` |
//! | 10 | Debounce has a quiet time *and* a maximum wait | `p10_` |
//! | 11 | [`Queue::get_batch`] takes up to n keys, each exclusively | `p11_`, loom |
//! | 12 | Observable: [`Queue::list`] has every key, [`Queue::stats`] counts | `p12_`, `metrics.rs` |
//!
//! - 1: `p01_stingy_a_key_added_often_is_handed_out_once`.
//! - 2: `two_producers_and_two_workers_never_hold_one_key_twice`.
//! - 3: `an_add_while_in_flight_is_never_lost`, `a_get_dropped_after_its_wake_passes_the_wake_on`.
//! - 4: an immediate add replaces a delay; [`Queue::cancel`] and [`Queue::forget`] work in both
//!   states. `an_immediate_add_racing_a_due_delay_is_one_run`,
//!   `a_cancel_racing_a_get_has_one_winner`.
//! - 5: a level of priority is worth [`Config::aging`] of waiting, so no key starves; with
//!   [`Config::tenants`], the tenants of one priority take turns.
//! - 6: a [`Work`] is completed by [`Work::done`], [`Work::retry`] or [`Work::after`]. A dropped
//!   one (a `?`, a panic, an aborted task) is retried with back-off and counted; only `done` or the
//!   limit of tries ends it. `an_add_beside_an_abandoned_work_is_never_lost`.
//! - 7: failures are counted in the key's entry and removed with it; a hook receives dead letters.
//! - 8: at the deadline it returns the leftovers.
//!   `a_drain_racing_an_add_hands_the_key_out_or_refuses_it`,
//!   `a_drain_waits_for_keys_in_flight_and_their_retries`.
//! - 11: `a_batch_is_as_exclusive_as_a_work`.
//! - 12: the list has state, age, next time, attempts and causes; Prometheus metrics have
//!   client-go's names. A [held](Work::hold) key is in flight, and counted apart from keys being
//!   worked on.
//!
//! A full queue refuses an add and returns the key ([`AddError::Full`]); absurd settings are typed
//! errors or documented clamps (`settings.rs`); known defects of other queues are tests named after
//! their reports (`defects.rs`).
//!
//! # Non-goals
//!
//! - It is not a message queue: a key carries no payload, and nothing survives the process. Workers
//!   read the current state; that is why merging loses nothing.
//! - It does not order keys. Work that must be sequential needs one key.
//! - Times are whole milliseconds: a delay ends at the first millisecond that is not before its
//!   end. The longest delay is a year ([`MAX_DELAY`]).
//! - It cannot stop a run. [`Queue::cancel`] removes a queued key; a key in flight stays in flight.
//! - With tenants, a key's wait is bounded by the turns of the other tenants of its priority; it is
//!   not first in, first out across tenants.
//!
//! # Example
//!
//! ```
//! use machinery_workqueue::{Add, Cause, Config, Priority, Queue};
//! use std::time::Duration;
//!
//! # #[cfg(not(feature = "tokio"))] fn main() {}
//! # #[cfg(feature = "tokio")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let queue = Queue::new(Config::default())?;
//! queue.add("cat.jpg")?;
//! queue.add("cat.jpg")?;                                        // merged
//! queue.add_after("dog.jpg", Duration::from_millis(20))?;
//! queue.add_with("cow.jpg", Add::new().priority(Priority::HIGH).cause(Cause::new(&"upload", 7)))?;
//!
//! let mut rendered = Vec::new();
//! while rendered.len() < 3 {
//!     let Some(work) = queue.get().await else { break };  // None: closed and empty
//!     match render(work.key(), work.attempts()) {
//!         Ok(()) => {
//!             rendered.push(*work.key());
//!             work.done();
//!         }
//!         Err(error) => {
//!             work.retry(error);                          // requeue after its back-off
//!         }
//!     }
//! }
//! assert_eq!(rendered, ["cow.jpg", "cat.jpg", "dog.jpg"]);
//!
//! let drained = queue.drain(Duration::from_secs(5)).await;
//! assert!(drained.leftovers.is_empty());
//! # Ok(()) }
//! # fn render(photo: &str, attempts: u16) -> Result<(), &'static str> {
//! #     if photo == "dog.jpg" && attempts == 0 { Err("half written") } else { Ok(()) }
//! # }
//! ```
//!
//! [`Queue::run`] is that loop for many workers. [`Queue::manual`] is the same queue without tokio:
//! its clock is moved by hand, which makes tests and simulations exact.
//!
//! # Features
//!
//! - `tokio` (default): [`Queue::new`] and [`Queue::run`].
//! - `prometheus` (default): [`Metrics`].
//! - `testing`: the naive model.
//!
//! Without features, [`Queue::manual`] and the rest remain.

mod add;
mod batch;
mod cause;
mod clock;
mod config;
mod core;
pub mod limiter;
mod priority;
mod queue;
mod shared;
mod work;

#[cfg(feature = "prometheus")]
mod metrics;
#[cfg(feature = "tokio")]
mod run;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(feature = "tokio")]
mod ticker;

pub use add::{Add, AddError, Added};
pub use batch::{Batch, BatchIter};
pub use cause::{Cause, Causes};
pub use clock::ManualClock;
pub use config::{Config, ConfigError, DeadLetterHook, Debounce, MAX_DELAY, TenantOf, tenant_of};
pub use core::{Histogram, KeyState, KeyStatus, Retried, Stats};
#[cfg(feature = "prometheus")]
pub use metrics::{Metrics, NameTaken};
pub use priority::Priority;
pub use queue::{Drained, Queue};
#[cfg(feature = "tokio")]
pub use run::{Next, Run};
pub use shared::{Key, entropy};
pub use work::{DeadLetter, Work};
