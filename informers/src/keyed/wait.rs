//! Read your writes, for keyed informers.

use std::time::Duration;

use machinery_objects::{Object, ResourceVersion, WriteOutcome, WriteToken};
use tokio::time::{Instant, timeout_at};

use super::informers::KeyedInformers;
use super::shared::{KeyedShared, SelectorKey};
use crate::informer::{MAX_WAIT, WaitError, fetch_named};

impl<F: SelectorKey, T: Object> KeyedInformers<F, T> {
    /// Waits until a write is visible under the complete keys: until its object is there in the
    /// written version, or the complete keys are current up to a later version. For incomplete
    /// keys,
    /// [wait for the key](super::Interest::synced) first.
    ///
    /// While the source is behind an earlier version it may have been restored, and no version
    /// confirms a write until it has caught up or all complete keys are relisted.
    ///
    /// Where versions are ordered, bookmarks advance the streams also without a matching event. If
    /// the timeout passes, the source is read once. Cancel safe.
    ///
    /// # Errors
    /// The write is not visible, even compared with the source; or the informers have stopped.
    pub async fn wait_for(&self, token: &WriteToken, timeout_after: Duration) -> Result<(), WaitError> {
        let shared = self.shared();
        let until = Instant::now() + timeout_after.min(MAX_WAIT);
        loop {
            let listener = shared.progress.listen();
            let shows = shared.shows(token);
            // Checked last, because a close is recorded before keys are released.
            if shared.keyed_cache.is_closed() {
                return Err(WaitError::Closed);
            }
            if shows {
                // The cache shows a change before its notifications are queued.
                shared.keyed_cache.hub.settle();
                return Ok(());
            }
            if timeout_at(until, listener).await.is_err() {
                return shared.check_source(token).await;
            }
        }
    }
}

impl<F: SelectorKey, T: Object> KeyedShared<F, T> {
    fn shows(&self, token: &WriteToken) -> bool {
        let held = self.keyed_cache.names.holders(&token.key);
        let mut all = held.iter().flat_map(|held| held.all()).map(|(_, object)| object);
        let ordered = self.source.capabilities().versions_are_ordered;
        match &token.wrote {
            WriteOutcome::Stored(version) | WriteOutcome::Observed(version) => {
                let is_there = all.any(|there| there.version().as_ref() == Some(version));
                (is_there && !self.progress.is_doubtful()) || self.is_past(version)
            }
            WriteOutcome::Removed(Some(version)) if ordered => self.is_past(version),
            // Without an order of versions, only the absence of the UID shows the deletion.
            WriteOutcome::Removed(_) => all.all(|there| match (&token.uid, there.uid()) {
                (Some(gone), Some(there)) => gone.as_str() != there,
                _ => false,
            }),
        }
    }

    /// Returns whether all complete keys are current up to this version. Without such keys nothing
    /// is missing.
    fn is_past(&self, version: &ResourceVersion) -> bool {
        let ordered = self.source.capabilities().versions_are_ordered;
        let is_past = || version.revision().is_some_and(|revision| self.progress.is_past(revision));
        !self.keyed_cache.any_was_complete() || (ordered && is_past())
    }

    /// Compares the cache with a live read of the object.
    async fn check_source(&self, token: &WriteToken) -> Result<(), WaitError> {
        let key = &token.key;
        let there = match fetch_named(&*self.source, &self.filter, &self.limits, key).await {
            Ok(there) => there,
            Err(error) => return Err(WaitError::Unknown { key: key.clone(), error }),
        };
        // An object under no complete key need not be cached.
        let there = there.filter(|found| {
            (self.find)(&found.object).is_some_and(|key| self.keyed_cache.was_complete(&key))
        });
        let held = self.keyed_cache.names.holders(key);
        let is_so = match (&there, &held) {
            (None, None) => true,
            (Some(there), Some(held)) => held.all().any(|(_, object)| object.version() == there.version),
            _ => false,
        };
        // The streams may have caught up during the read.
        let is_so = is_so || self.shows(token);
        if self.keyed_cache.is_closed() {
            return Err(WaitError::Closed);
        }
        if is_so { Ok(()) } else { Err(WaitError::Behind { key: key.clone() }) }
    }
}
