//! How an informer is.

use std::time::Duration;

use machinery_objects::{ResourceVersion, Unreadable};

use crate::deliver::Lag;
use crate::reflect::ReflectorError;

/// How an informer is, for people and for health checks.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct State {
    /// Whether the cache has once been whole.
    pub synced: bool,
    /// The cache shows everything up to this version.
    pub version: Option<ResourceVersion>,
    /// How many objects it has.
    pub objects: usize,
    /// For how long nothing has come that the cache took, and no mark that it is up to date: how old it is at the most. Where the
    /// source sends bookmarks that is about a minute while nothing happens.
    pub silent_for: Duration,
    /// It has stopped: nothing changes any more.
    pub closed: bool,
    /// What keeps it from being up to date. It tries again by itself.
    pub trouble: Option<ReflectorError>,
    /// Objects that cannot be read, the first thousand of them.
    pub unreadable: Vec<Unreadable>,
    /// How many are told.
    pub handlers: usize,
    /// How far they are behind: the most of any, and the panics of all that there are.
    pub lag: Lag,
    /// What has happened.
    pub counts: Counts,
}

/// What has happened to an informer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Pages that were asked for.
    pub lists: u64,
    /// Watches that were asked for.
    pub watches: u64,
    /// Events that came, bookmarks aside.
    pub events: u64,
    /// Changes that came after those that they came before, and were dropped.
    pub late: u64,
    /// Times that something was wrong.
    pub troubles: u64,
    /// Objects that could not be read, each time.
    pub unreadable: u64,
    /// Times that a function of an index panicked.
    pub index_panics: u64,
    /// Comparisons with a list, those from which nothing could be said aside.
    pub drift_checks: u64,
    /// Objects that were found to differ from it; at most 16 of them are looked into each time, by turns.
    pub drifts: u64,
}
