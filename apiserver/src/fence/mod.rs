//! What a writer acts under: an object, and which of those of its name, and whose turn.

mod header;
mod hold;

pub(crate) use hold::Fence;
