//! A work queue of keys: each key is in it once, and with one worker at a time.
//!
//! Whoever hears that something changed adds its key. Workers take keys, look at the world as it is now, and act. Ten
//! changes of one thing before a worker comes are one run; a change during the run is one more run after it. That is
//! the heart of every controller, and this crate knows nothing else: no Kubernetes, no network, no store.
//!
//! # What it promises
//!
//! Each promise names the tests that hold it, in `tests/it/` (one after another), `tests/loom.rs` (every interleaving
//! of three or four threads, marked *loom*) and against a naive model over twelve thousand random sequences of
//! operations (`the_queue_is_the_model`: every answer, every key and its order, without waiters).
//!
//! 1. **Stingy.** A key added many times before it is handed out is handed out once
//!    (`p01_stingy_a_key_added_often_is_handed_out_once`).
//! 2. **Exclusive.** At most one [`Work`] exists per key (`p02_…`; loom:
//!    `two_producers_and_two_workers_never_hold_one_key_twice`).
//! 3. **Nothing lost.** A key added while it is out is handed out again after its answer (`p03_…`; loom:
//!    `an_add_while_in_flight_is_never_lost`, `a_get_dropped_after_its_wake_passes_the_wake_on`).
//! 4. **One entry per key**, ready or delayed: the earliest time wins, an add beats a delay, and [`Queue::cancel`] and
//!    [`Queue::forget`] work on both (`p04_…`; loom: `an_immediate_add_racing_a_due_delay_is_one_run`,
//!    `a_cancel_racing_a_get_has_one_winner`).
//! 5. **Fair.** First come first served within a [`Priority`]; a level of priority is worth [`Config::aging`] of
//!    waiting, so nothing starves; with [`Config::tenants`], tenants of one priority take turns (`p05_…`).
//! 6. **A guard, not a protocol.** A [`Work`] is answered with [`Work::done`], [`Work::retry`] or [`Work::after`].
//!    Dropped unanswered (a `?`, a panic, an aborted task) it is retried with back-off, and counted. Only `done` ends
//!    it, or the limit of tries (`p06_…`, `dropping.rs`; loom: `an_add_beside_an_abandoned_work_is_never_lost`).
//! 7. **Back-off per key**, exponential with jitter, capped, with a limit of tries and a hook for what exceeds it
//!    (`p07_…`). Failures are counted in the key's entry and end with it.
//! 8. **Drain means drained.** [`Queue::drain`] returns when nothing is left that could run before the deadline, or at
//!    the deadline, with the leftovers (`p08_…`, `end.rs`; loom: `a_drain_racing_an_add_hands_the_key_out_or_refuses_it`,
//!    `a_drain_waits_for_keys_in_flight_and_their_retries`).
//! 9. **Why.** The causes given with adds survive merging and failure, merged by name, four to a key (`p09_…`).
//! 10. **Debounce** with a quiet time *and* a maximum wait (`p10_…`).
//! 11. **Batches.** [`Queue::get_batch`] takes up to n keys, each as exclusive as a single one (`p11_…`; loom:
//!     `a_batch_is_as_exclusive_as_a_work`).
//! 12. **Seen.** Every key's state, age, next time, attempts and causes can be listed ([`Queue::list`]); counts are
//!     kept always, and shown to Prometheus under client-go's names (`p12_…`, `metrics.rs`). What is [held](Work::hold) is
//!     out, and counted apart from what is worked on.
//!
//! And: a full queue says so and gives the key back ([`AddError::Full`]); absurd settings are typed errors or documented
//! clamps (`settings.rs`); what is known to go wrong in other queues is a test here, under the name of its report
//! (`defects.rs`).
//!
//! # What it does not do
//!
//! - It is not a message queue: a key carries no payload, and nothing survives the process. Workers look up what is
//!   wanted *now*; that is why merging loses nothing.
//! - It does not order one key after another. Keys are independent; what must be one after the other is one key.
//! - Times are whole milliseconds: a delay ends at the first one that is not before its end. The longest delay is a
//!   year ([`MAX_DELAY`]).
//! - It cannot stop a run that is under way. [`Queue::cancel`] takes back what is queued; what is out stays out.
//! - With tenants, a key's wait is bounded by the turns of the others of its priority, not by first come first served.
//!
//! # Example
//!
//! ```
//! use machinery_workqueue::{Add, Cause, Config, Priority, Queue};
//! use std::time::Duration;
//!
//! # #[cfg(not(feature = "tokio"))] fn main() {}
//! # #[cfg(feature = "tokio")]
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let queue = Queue::new(Config::default())?;
//! queue.add("cat.jpg")?;
//! queue.add("cat.jpg")?;                                        // merged
//! queue.add_after("dog.jpg", Duration::from_millis(20))?;
//! queue.add_with("cow.jpg", Add::new().priority(Priority::HIGH).cause(Cause::new(&"upload", 7)))?;
//!
//! let mut rendered = Vec::new();
//! while rendered.len() < 3 {
//!     let Some(work) = queue.get().await else { break };        // None: closed, and nothing is left
//!     match render(work.key(), work.attempts()) {
//!         Ok(()) => {
//!             rendered.push(*work.key());
//!             work.done();
//!         }
//!         Err(error) => {
//!             work.retry(error);                                // again after a back-off of its own
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
//! [`Queue::run`] is that loop for many workers. [`Queue::manual`] is the same queue without tokio: its time is moved
//! by hand, which makes tests and simulations exact.
//!
//! # Features
//!
//! `tokio` (default): [`Queue::new`] and [`Queue::run`]. `prometheus` (default): [`Metrics`]. `testing`: the naive
//! model. Without any, [`Queue::manual`] and everything else is there.

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
