//! The state and the counters of an informer.

use std::time::Duration;

use machinery_objects::{ResourceVersion, Unreadable};

use crate::deliver::Lag;
use crate::reflect::ReflectorError;

/// The state of an informer, for people and for health checks.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct State {
    /// Whether the initial list is complete.
    pub synced: bool,
    /// The cache is current up to this version.
    pub version: Option<ResourceVersion>,
    /// Number of cached objects.
    pub objects: usize,
    /// Time since the last event or bookmark that showed the cache to be current: its maximum age.
    /// With bookmarks it is about a minute while nothing changes.
    pub silent_for: Duration,
    /// The informer has stopped.
    pub closed: bool,
    /// The error that keeps the cache from being current; it is retried.
    pub trouble: Option<ReflectorError>,
    /// Objects that cannot be read, at most a thousand of them.
    pub unreadable: Vec<Unreadable>,
    /// Number of handlers.
    pub handlers: usize,
    /// The maximum lag of the handlers, and the sum of their panics.
    pub lag: Lag,
    /// Counters of the informer.
    pub counts: Counts,
}

/// Counters of an informer, since its creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Pages of lists that were requested.
    pub lists: u64,
    /// Watches that were requested.
    pub watches: u64,
    /// Events received, without bookmarks.
    pub events: u64,
    /// Changes that arrived after a newer version of their object, and were dropped.
    pub late: u64,
    /// Errors.
    pub troubles: u64,
    /// Unreadable objects that were received, with repetitions.
    pub unreadable: u64,
    /// Panics of index functions.
    pub index_panics: u64,
    /// Drift checks that came to a result.
    pub drift_checks: u64,
    /// Objects found to have drifted; a check reads at most 16 of them from the source, in turn.
    pub drifts: u64,
}
