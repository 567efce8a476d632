//! How far a cache has come, and who waits for it to come farther.

use std::time::Instant;

use machinery_objects::ResourceVersion;
use machinery_sync::{Listener, Mutex, Notify};

/// Shared by the cache and its readers.
pub(crate) struct CacheProgress {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Clone)]
pub(crate) struct State {
    /// Everything up to this version is shown.
    pub(crate) version: Option<ResourceVersion>,
    /// The source shows less: it is behind, or was restored.
    pub(crate) doubtful: bool,
    /// Whether the cache has once been whole.
    pub(crate) synced: bool,
    /// When the source last said what made it as new as it can be.
    pub(crate) fresh_at: Instant,
    /// It is over: nothing changes any more.
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

    /// It is as new as it can be.
    pub(crate) fn mark_fresh(&self, now: Instant) {
        self.state.lock().fresh_at = now;
    }

    /// The cache shows everything up to this version. Call [`changed`](Self::changed) then.
    pub(crate) fn advance(&self, version: ResourceVersion, relisted: bool) {
        let mut state = self.state.lock();
        state.version = Some(version);
        state.synced |= relisted;
    }

    /// Whether the source shows less than the cache: what that shows may never have been. Call [`changed`](Self::changed) then.
    pub(crate) fn doubt(&self, doubtful: bool) {
        self.state.lock().doubtful = doubtful;
    }

    /// Something in the cache changed, or it is over.
    pub(crate) fn changed(&self) {
        // Whoever listens, and then looks, comes before this lock or sees the change.
        drop(self.state.lock());
        self.changed.notify_all();
    }

    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_all();
    }

    /// Woken by the next change from now on.
    pub(crate) fn listen(&self) -> Listener<'_> {
        self.changed.listen()
    }
}
