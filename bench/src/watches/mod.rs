//! Many watches by selector on one server, and a client whose writes they see.
//!
//! An [`WatchPool`] holds the watches. Each selects objects by the equality of one label, and a task reads it. What they see is
//! counted in `heard`: every event is looked at, and must be the next of those that its watch selects. A [`Publisher`] writes.

mod descriptors;
mod event_log;
mod lines;
mod publisher;
mod stream;
mod watch_pool;

pub(crate) use descriptors::allow;
pub(crate) use event_log::Lags;
pub(crate) use publisher::{Publisher, WriteTimes};
pub(crate) use watch_pool::{WatchLayout, WatchPool};
