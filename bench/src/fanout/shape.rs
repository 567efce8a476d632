//! What is measured. Objects are custom resources of 1 KiB, one for each label; an event replaces one of them.

use crate::watches::WatchLayout;

/// How many watches each event interests.
pub(super) const INTERESTED: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FanoutShape {
    /// Events among many watches, each of interest to ten.
    Event { watches: usize, traffic: Traffic },
    /// The same among few watches, and then among many, on the same server with the same objects.
    Cost { few: usize, many: usize, traffic: Traffic },
    /// Events of interest to ten, one of which never reads; until all who never read were ended.
    Stalled { watches: usize, rate: f64, seconds: f64 },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Traffic {
    /// A second.
    pub(super) rate: f64,
    pub(super) events: usize,
    /// Looked at with no events.
    pub(super) idle_seconds: f64,
}

/// Watches over connections of HTTP/2: a hundred on each, or ten connections where there are fewer than a thousand. So an event goes to
/// ten connections always.
pub(super) fn seats(watches: usize) -> WatchLayout {
    let per_connection = (watches / INTERESTED).clamp(1, 100);
    WatchLayout { watches, shards: watches / INTERESTED, per_connection, stalled: None }
}
