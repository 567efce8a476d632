//! What a reflector is after, and how patient it is.

use std::num::NonZeroU32;
use std::time::Duration;

use machinery_objects::{Capabilities, Filter};

/// What does not change while it runs.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) filter: Filter,
    pub(crate) can: Capabilities,
    pub(crate) limits: Limits,
    /// For what is not to be the same for all.
    pub(crate) seed: u64,
}

/// How much an informer takes, and how long it waits.
///
/// At each of them there is a named [`Trouble`](crate::Trouble); the cache stays as it was, and it is tried again later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// So many objects are asked for at a time.
    pub page: NonZeroU32,
    /// A list that goes on after so many objects is given up.
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
    /// A server that shows less than it once showed is believed after so long: it was restored.
    pub stale_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            page: NonZeroU32::new(500).expect("it is not zero"),
            objects: 4_000_000,
            empty_pages: 16,
            list_time: Duration::from_secs(600),
            answer_time: Duration::from_secs(60),
            watch_time: Duration::from_secs(290),
            silence: Duration::from_secs(150),
            stale_time: Duration::from_secs(300),
        }
    }
}

impl Plan {
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
