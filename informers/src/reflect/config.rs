//! What a reflector is after, and how patient it is.

use std::num::NonZeroU32;
use std::time::Duration;

use machinery_objects::{Capabilities, Filter};

/// What does not change while it runs.
#[derive(Clone, Debug)]
pub(crate) struct ReflectorConfig {
    pub(crate) filter: Filter,
    pub(crate) can: Capabilities,
    pub(crate) limits: ReflectorLimits,
    /// For what is not to be the same for all.
    pub(crate) seed: u64,
}

/// How much an informer takes, and how long it waits.
///
/// At each of them there is a named [`ReflectorError`](crate::ReflectorError); the cache stays as it was, and it is tried again later. A time of
/// more than a year is a year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReflectorLimits {
    /// So many objects are asked for at a time.
    pub page: NonZeroU32,
    /// A list that goes on after so many objects is given up. A cache that has so many, when one more comes, stays as it is until a
    /// list shows that they fit again; the first is asked for after a minute. Keyed informers have so many under all keys together, and
    /// are full together where one stream has all; with a stream for each key those that have one more to take are.
    pub objects: usize,
    /// Or after so many pages in a row without any.
    pub empty_pages: u32,
    /// Or when it has taken so long.
    pub list_time: Duration,
    /// An answer that has not begun after so long does not come any more.
    pub answer_time: Duration,
    /// A watch is asked to last so long.
    pub watch_time: Duration,
    /// A watch that carries bookmarks and is silent for so long is dead. One without may be silent until its time is over.
    pub silence: Duration,
    /// So many keys are in one request of keyed informers, to a stream of interest. More are in the next.
    pub edit_keys: usize,
    /// Or as many as take so many bytes there. Proxies let a mebibyte pass, servers more.
    pub edit_bytes: usize,
    /// A server that shows less than it once showed is believed after so long: it was restored.
    pub stale_time: Duration,
}

impl Default for ReflectorLimits {
    fn default() -> Self {
        Self {
            page: NonZeroU32::new(500).expect("it is not zero"),
            objects: 4_000_000,
            empty_pages: 16,
            list_time: Duration::from_secs(600),
            answer_time: Duration::from_secs(60),
            watch_time: Duration::from_secs(290),
            silence: Duration::from_secs(150),
            edit_keys: 50_000,
            edit_bytes: 1_000_000,
            stale_time: Duration::from_secs(300),
        }
    }
}

/// Longer than anybody waits, and short enough for any clock.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

impl ReflectorLimits {
    /// The same, with times that can be added to any moment.
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
    /// Whether the state can be watched, and is then known to be complete.
    pub(super) const fn watches_state(&self) -> bool {
        self.can.watches_state && self.can.bookmarks
    }

    /// For how long a watch may say nothing.
    pub(super) fn silence(&self) -> Duration {
        match self.can.bookmarks {
            true => self.limits.silence,
            false => self.limits.watch_time + self.limits.answer_time,
        }
    }
}
