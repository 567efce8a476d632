//! Own writes: the event of a write causes no run of the key whose run made the write.
//!
//! A [`WriteWindows`] has a window for each key in flight, from before the read of its subject until
//! the caches and the event sources have passed its writes. Changes that concern the key meanwhile
//! are parked. When the window closes, the run's writes are known: their events are dropped, and
//! all others request the next run. Design: `docs/designs/036-own-writes.md`.

mod change;
mod scope;
#[cfg(all(test, not(machinery_loom)))]
mod tests;
mod window;

pub use change::{ChangedTo, ObjectChange, OwnWrite};
pub use scope::report_write;
pub(crate) use scope::reporting;
pub use window::{ParkedChange, WriteWindows};
