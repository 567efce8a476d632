//! What to ask of a source, and what becomes of the cache: decided here, done by the shell.
//!
//! `step` is the machine, with its inputs, orders and effects; `list` and `watch` are what it does with pages and with events.

mod backoff;
#[cfg(feature = "tokio")]
mod drive;
#[cfg(feature = "tokio")]
mod events;
#[cfg(feature = "tokio")]
mod found;
mod list;
mod plan;
mod step;
#[cfg(test)]
mod tests;
mod told;
mod trouble;
mod watch;

pub(crate) use backoff::Backoff;
#[cfg(feature = "tokio")]
pub(crate) use drive::{Sink, drive};
#[cfg(feature = "tokio")]
pub(crate) use events::{AT_ONCE, Heard, at_hand_of, next_of};
#[cfg(feature = "tokio")]
pub(crate) use found::found_all;
pub use plan::Limits;
pub(crate) use plan::Plan;
pub(crate) use step::{Effect, FULL_WAIT, Found, Input, Order, Reflector, Went};
pub(crate) use told::{effect_of, version_of};
pub use trouble::Trouble;
