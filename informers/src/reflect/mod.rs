//! The reflector: lists, watches and relists, as client-go's `Reflector`.
//!
//! It decides on requests and on changes of the cache; a shell does the I/O. `step` is the
//! state machine with its inputs, commands and effects; `list` and `watch` handle pages and events.

mod backoff;
mod config;
#[cfg(feature = "tokio")]
mod drive;
mod error;
mod event_effect;
#[cfg(feature = "tokio")]
mod events;
mod list;
#[cfg(feature = "tokio")]
mod source_object;
mod step;
#[cfg(test)]
mod tests;
mod watch;

pub(crate) use backoff::Backoff;
pub(crate) use config::ReflectorConfig;
pub use config::ReflectorLimits;
#[cfg(feature = "tokio")]
pub(crate) use drive::{Sink, drive};
pub use error::ReflectorError;
pub(crate) use event_effect::{effect_of, version_of};
#[cfg(feature = "tokio")]
pub(crate) use events::{EVENTS_PER_YIELD, WatchItem, next_of, ready_item_of};
#[cfg(feature = "tokio")]
pub(crate) use source_object::objects_of_page;
pub(crate) use step::{
    Effect, FULL_WAIT, Reflector, ReflectorCommand, ReflectorInput, RemovalKind, SourceObject,
};
