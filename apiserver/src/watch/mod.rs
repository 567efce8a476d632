//! Watches: what became of the objects that are selected, as somebody sees it who knows only those.
//!
//! * [`feed`]: a watch as a stream
//! * [`missed`]: what it has to read from the store, because it came late

mod feed;
mod missed;

pub(crate) use feed::{Changed, End, Feed, Item, Plan};
#[cfg(test)]
pub(crate) use missed::Missed;
