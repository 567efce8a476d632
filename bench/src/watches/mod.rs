//! Many watches by selector on one server, and a client whose writes they see.
//!
//! An [`Audience`] holds the watches. Each selects objects by the equality of one label, and a task reads it. What they see is
//! counted in `heard`: every event is looked at, and must be the next of those that its watch selects. A [`Publisher`] writes.

mod audience;
mod descriptors;
mod heard;
mod lines;
mod publisher;
mod stream;

pub(crate) use audience::{Audience, Seats};
pub(crate) use descriptors::allow;
pub(crate) use heard::Lags;
pub(crate) use publisher::{Publisher, Times};
