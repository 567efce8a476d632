//! Protobuf bodies: messages in an envelope, which client-go sends for built-in kinds.

mod decode;
mod encode;
mod envelope;
mod special;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use encode::wire::{write_bytes, write_double, write_message, write_varint};
pub(crate) use encode::{ListWriter, encode, watch_frame};
pub(crate) use envelope::{ExpectedType, decode};
