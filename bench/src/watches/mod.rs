//! Many watches by selector on one server, and a client that writes.
//!
//! A [`WatchPool`] holds the watches. Each selects objects by one label, and a task reads it. Their
//! events are recorded in `event_log`: each is verified, and must be the next one of its watch's
//! selection. A [`Publisher`] writes.

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
