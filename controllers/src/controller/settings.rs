//! Limits and timeouts of a controller.

use std::time::Duration;

/// Limits and timeouts of a controller. The defaults suit most controllers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Number of workers, and so of concurrent runs. Default: 8.
    pub workers: usize,
    /// Timeout for the initial sync of all sources. Default: 2 min.
    pub sync_time: Duration,
    /// Time limit of a run; a longer one is dropped and counts as failed. Default: 5 min.
    pub run_time: Duration,
    /// Duration after which an active run is reported as stuck. Default: 1 min.
    pub stuck_after: Duration,
    /// Time that a key is held until the informers have reached the writes of its run. Default: 10
    /// s.
    pub cache_timeout: Duration,
    /// Drain timeout: time for active runs to finish at shutdown. Default: 30 s.
    pub drain: Duration,
    /// Number of keys with a record of their last run. Default: 65 536.
    pub records: usize,
    /// Treatment of the events of a run's own writes. Default: [`OwnWrites::Ignore`].
    pub own_writes: OwnWrites,
}

/// Treatment of the events of a run's own writes, for the key of that run. For other keys they are
/// events like all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OwnWrites {
    /// They request no run, unless somebody else wrote in between. A reconciler that needs another
    /// run returns [`Next::After`](crate::Next::After).
    ///
    /// Exceptions that request one: the mark for deletion of the subject itself, and on servers
    /// that do not tell whether a write changed something, an unconditional update, patch or apply.
    #[default]
    Ignore,
    /// Each requests a run, as in other libraries.
    Reconcile,
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
            own_writes: OwnWrites::Ignore,
        }
    }
}
