//! Watches: what became of the objects that are selected, as somebody sees it who knows only those.

mod feed;
mod sight;

pub(crate) use feed::{End, Feed, Item, Plan, State};
pub(crate) use sight::{Seen, Sight};
