//! The second form of bodies: messages in an envelope, which clients send for every built-in kind.

mod decode;
#[cfg(any(test, feature = "testing"))]
mod encode;
mod envelope;
mod special;
#[cfg(test)]
mod tests;
mod wire;

#[cfg(any(test, feature = "testing"))]
pub(crate) use encode::encode;
#[cfg(test)]
pub(crate) use encode::watch_frame;
pub(crate) use envelope::{Expected, decode};
