//! Watches: changes of selected objects, translated into events of the selection.
//!
//! * [`feed`]: a watch as a stream
//! * [`missed`]: the changes that a late watch reads from the store

mod feed;
mod missed;

pub(crate) use feed::{Changed, End, Feed, Item, Plan};
#[cfg(test)]
pub(crate) use missed::Missed;
