//! A checker for histories of calls to a backend.
//!
//! A [`Recorder`] stands between clients and a [`Backend`](crate::Backend) and records each call
//! and answer in their order. [`traffic`] runs conflicting clients: few keys, optimistic writes,
//! reads and watches of past and future revisions, and frequent compaction. [`check`] verifies the
//! whole history:
//!
//! 1. **Linearizability**: one order of all commits and reads explains every answer and respects
//!    real time ([`Violation::NotLinearizable`]). The revisions determine most of the order; only
//!    commits with an unknown outcome can be placed freely.
//! 2. **Reads at a revision** return the contents of that order, and are refused exactly below
//!    the compacted revision ([`Violation::WrongRead`]).
//! 3. **Each watch** yields the changes of that order: nine validators, one for each guarantee
//!    that etcd gives, in [`watches`].
//!
//! The store must be empty at the start, use gapless revisions, and compact only on request.

mod calls;
mod linear;
mod linearization;
mod reads;
mod recorder;
mod stats;
mod steps;
mod traffic;
mod violation;
mod watcher;
pub mod watches;
mod worker;

pub use calls::{CallRecord, Exchange, History, WatchRecord};
pub use linearization::Linearization;
pub use recorder::{Client, Recorder};
pub use stats::{InsufficientTraffic, TrafficStats};
pub use traffic::{TrafficPlan, traffic};
pub use violation::Violation;

/// Checks `history`. Returns the order of commits that explains it, or all violations.
pub fn check(history: &History) -> Result<Linearization, Vec<Violation>> {
    let replay =
        calls::assume(history).and_then(|()| linear::explain(history)).map_err(|wrong| vec![wrong])?;
    let wrong: Vec<Violation> = reads::all(history, &replay).chain(watches::all(history, &replay)).collect();
    if wrong.is_empty() { Ok(replay) } else { Err(wrong) }
}
