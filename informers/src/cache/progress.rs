//! The version up to which a cache is current, and a notification of its waiters.

use std::time::Instant;

use machinery_objects::ResourceVersion;
use machinery_sync::{Listener, Mutex, Notify};

/// The progress of a cache, shared by its writer and its readers.
pub(crate) struct CacheProgress {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Clone)]
pub(crate) struct State {
    /// The cache is current up to this version.
    pub(crate) version: Option<ResourceVersion>,
    /// The source is at an earlier version than the cache: it is behind, or was restored.
    pub(crate) doubtful: bool,
    /// Whether the cache has completed its initial list.
    pub(crate) synced: bool,
    /// Time of the last event or bookmark that showed the cache to be current.
    pub(crate) fresh_at: Instant,
    /// The informer has stopped.
    pub(crate) closed: bool,
}

impl CacheProgress {
    pub(crate) fn new(now: Instant) -> Self {
        let state = State { version: None, doubtful: false, synced: false, fresh_at: now, closed: false };
        Self { state: Mutex::new(state), changed: Notify::new() }
    }

    pub(crate) fn now(&self) -> State {
        self.state.lock().clone()
    }

    /// Records that the cache is current at the time `now`.
    pub(crate) fn mark_fresh(&self, now: Instant) {
        self.state.lock().fresh_at = now;
    }

    /// Advances the version; to be followed by [`changed`](Self::changed).
    pub(crate) fn advance(&self, version: ResourceVersion, relisted: bool) {
        let mut state = self.state.lock();
        state.version = Some(version);
        state.synced |= relisted;
    }

    /// Records whether the source is behind the cache, which may then hold versions that were lost
    /// in a restore. To be followed by [`changed`](Self::changed).
    pub(crate) fn doubt(&self, doubtful: bool) {
        self.state.lock().doubtful = doubtful;
    }

    /// Wakes the waiters after a change of the cache.
    pub(crate) fn changed(&self) {
        // A waiter registers before it reads, so it either registered before this lock or sees the
        // change.
        drop(self.state.lock());
        self.changed.notify_all();
    }

    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_all();
    }

    /// Returns a listener that the next change wakes.
    pub(crate) fn listen(&self) -> Listener<'_> {
        self.changed.listen()
    }
}
