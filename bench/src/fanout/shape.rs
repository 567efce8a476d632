//! The measured shapes. Objects are custom resources of 1 KiB, one per label value; an event
//! replaces one of them.

use crate::watches::WatchLayout;

/// Number of watches that select each event.
pub(super) const INTERESTED: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FanoutShape {
    /// Events among many watches, each selected by ten.
    Event { watches: usize, traffic: Traffic },
    /// The same among few and then among many watches, on the same server and objects.
    Cost { few: usize, many: usize, traffic: Traffic },
    /// Events selected by ten watches, one of which never reads, until all stalled watches are
    /// ended.
    Stalled { watches: usize, rate: f64, seconds: f64 },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Traffic {
    /// Events per second.
    pub(super) rate: f64,
    pub(super) events: usize,
    /// Time measured without events.
    pub(super) idle_seconds: f64,
}

/// Lays out watches on HTTP/2 connections: a hundred on each, or ten connections for fewer than a
/// thousand, so that an event always goes to ten connections.
pub(super) fn seats(watches: usize) -> WatchLayout {
    let per_connection = (watches / INTERESTED).clamp(1, 100);
    WatchLayout { watches, shards: watches / INTERESTED, per_connection, stalled: None }
}
