//! The configuration of a reflector, and its limits.

use std::num::NonZeroU32;
use std::time::Duration;

use machinery_objects::{Capabilities, Filter};

/// The parameters of a reflector.
#[derive(Clone, Debug)]
pub(crate) struct ReflectorConfig {
    pub(crate) filter: Filter,
    pub(crate) can: Capabilities,
    pub(crate) limits: ReflectorLimits,
    /// The seed of the jitter.
    pub(crate) seed: u64,
}

/// Limits and timeouts of an informer.
///
/// Exceeding one is a [`ReflectorError`](crate::ReflectorError); the cache keeps its state, and the
/// reflector retries. Durations are capped at a year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReflectorLimits {
    /// Page size of lists.
    pub page: NonZeroU32,
    /// Maximum number of objects, in a list and in the cache.
    ///
    /// A longer list is abandoned. A full cache that receives one more object keeps its state until
    /// a list fits again; the first such relist is a minute later. Keyed informers count the
    /// objects under all keys together: on one stream they are full together, with a stream per key
    /// only the streams that receive another object.
    pub objects: usize,
    /// Maximum number of successive empty pages of a list.
    pub empty_pages: u32,
    /// Maximum duration of a list.
    pub list_time: Duration,
    /// Timeout of a request.
    pub answer_time: Duration,
    /// The duration that is requested of a watch.
    pub watch_time: Duration,
    /// Maximum silence of a watch with bookmarks, after which it is restarted. One without
    /// bookmarks may be silent until its end.
    pub silence: Duration,
    /// Maximum number of keys in one request of keyed informers to an interest stream.
    pub edit_keys: usize,
    /// Maximum size of these keys in bytes. Proxies accept a mebibyte, servers more.
    pub edit_bytes: usize,
    /// Time after which a server that stays behind its earlier versions is taken for restored.
    pub stale_time: Duration,
}

impl Default for ReflectorLimits {
    fn default() -> Self {
        Self {
            // As client-go's pager.
            page: NonZeroU32::new(500).expect("it is not zero"),
            objects: 4_000_000,
            empty_pages: 16,
            list_time: Duration::from_secs(600),
            answer_time: Duration::from_secs(60),
            watch_time: Duration::from_secs(290),
            // Bookmarks arrive about every minute: two of them may be lost.
            silence: Duration::from_secs(150),
            edit_keys: 50_000,
            edit_bytes: 1_000_000,
            // A lagging replica catches up sooner, so the source was restored from a backup.
            stale_time: Duration::from_secs(300),
        }
    }
}

/// Upper bound of durations, short enough for any clock.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

impl ReflectorLimits {
    /// Returns the limits with durations that can be added to any instant.
    pub(crate) fn bounded(self) -> Self {
        let bounded = |time: Duration| time.min(LONGEST);
        Self {
            list_time: bounded(self.list_time),
            answer_time: bounded(self.answer_time),
            watch_time: bounded(self.watch_time),
            silence: bounded(self.silence),
            stale_time: bounded(self.stale_time),
            ..self
        }
    }
}

impl ReflectorConfig {
    /// Returns whether the state can be streamed, with a bookmark at its end.
    pub(super) const fn watches_state(&self) -> bool {
        self.can.watches_state && self.can.bookmarks
    }

    /// The maximum silence of a watch.
    pub(super) fn silence(&self) -> Duration {
        match self.can.bookmarks {
            true => self.limits.silence,
            false => self.limits.watch_time + self.limits.answer_time,
        }
    }
}
