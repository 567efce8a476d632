//! What can be said of a controller in numbers.

use std::time::Duration;

/// What can be said of a controller in numbers. Each has a default that most can live with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How many runs there may be at once, each of another key. Default: 8.
    pub workers: usize,
    /// How long all that is there may take to be in the queue, before it is an error. Default: 2 min.
    pub sync_time: Duration,
    /// How long a run may take, before it is dropped and counts as failed. Default: 5 min.
    pub run_time: Duration,
    /// After how long a run is reported as stuck, whatever it does. Default: 1 min.
    pub stuck_after: Duration,
    /// How long a key is held until the informers show what its run wrote. Default: 10 s.
    pub cache_timeout: Duration,
    /// How long runs that are under way may go on when the controller stops. Default: 30 s.
    pub drain: Duration,
    /// Of how many keys it is known what came of the last run. Default: 65 536.
    pub records: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            workers: 8,
            sync_time: Duration::from_secs(120),
            run_time: Duration::from_secs(300),
            stuck_after: Duration::from_secs(60),
            cache_timeout: Duration::from_secs(10),
            drain: Duration::from_secs(30),
            records: 1 << 16,
        }
    }
}
