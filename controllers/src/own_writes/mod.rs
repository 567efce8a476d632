//! Own writes: the event of a write causes no run of the key that made the write.
//!
//! A [`WriteWindows`] has a window for each key in flight. It opens before the subject is read, and
//! closes when the caches and the event sources have passed the writes of the run. Changes that
//! concern the key meanwhile are parked. When the window closes, the run's writes are known: their
//! events are dropped, and all others request the next run. Design:
//! `docs/designs/036-own-writes.md`.

mod change;
#[cfg(all(test, not(machinery_loom)))]
mod change_tests;
mod scope;
#[cfg(all(test, not(machinery_loom)))]
mod tests;
mod window;

pub use change::{ChangedTo, ObjectChange, OwnWrite};
pub use scope::report_write;
pub(crate) use scope::reporting;
pub use window::{ParkedChange, WriteWindows};
