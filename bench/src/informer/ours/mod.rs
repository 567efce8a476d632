//! Our informers.

mod decode;
mod hop;
mod near;
mod reads;
pub(crate) mod source;
mod sync;
mod writes;

pub(super) use decode::{decode, page};
pub(super) use hop::{Hops, hop};
pub(super) use near::near;
pub(super) use reads::{getting, listing, reads};
pub(super) use sync::sync;
pub(crate) use sync::{config, kind};
pub(super) use writes::writes;
