//! What happened at a store, recorded and judged afterwards.
//!
//! A [`Recorder`] stands between clients and a [`Backend`](crate::Backend) and writes down each call and answer with the
//! order in which they came. [`traffic`] makes clients that get in each other's way: few keys, optimistic writes, reads and
//! watches of the past and of the future, and compaction all the time. [`check`] then asks of the whole record:
//!
//! 1. **Is there one order** of all commits and reads that explains every answer and respects who came after whom
//!    ([`Violation::NotLinearizable`])? The revisions tell most of it; only commits whose outcome nobody was told may be
//!    placed freely.
//! 2. **Do reads at a revision** answer what that order says was there, and are they refused exactly below what was
//!    compacted ([`Violation::WrongRead`])?
//! 3. **Did each watch** tell what that order says? Nine validators, one for each guarantee that etcd gives, in
//!    [`watches`].
//!
//! It asks for a store that is empty at the beginning, gapless, and that compacts only when it is told to.

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

/// Judges `history`: the order that explains it, or everything that is wrong with it.
pub fn check(history: &History) -> Result<Linearization, Vec<Violation>> {
    let replay =
        calls::assume(history).and_then(|()| linear::explain(history)).map_err(|wrong| vec![wrong])?;
    let wrong: Vec<Violation> = reads::all(history, &replay).chain(watches::all(history, &replay)).collect();
    if wrong.is_empty() { Ok(replay) } else { Err(wrong) }
}
