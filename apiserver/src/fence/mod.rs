//! Fences: a write is rejected if the writer's lock or Lease has been replaced or has changed
//! hands.

mod header;
mod hold;

pub(crate) use hold::Fence;
