//! Keys that are held until the caches have reached the writes of their last run.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::state::PendingWrites;
use crate::reconcile::WriteWait;

/// The writes of a run, and the deadline for waiting.
#[derive(Clone)]
pub(super) struct HeldKey {
    waits: Arc<[WriteWait]>,
    since: Instant,
    until: Instant,
}

// `Instant + Duration::MAX` would panic.
const MAX_LENGTH: Duration = Duration::from_secs(365 * 24 * 3600);
/// Grace period beyond the deadline, for the informer's check with its source.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

impl HeldKey {
    /// Returns `None` if nothing was written.
    pub(super) fn new(waits: Vec<WriteWait>, cache_timeout: Duration) -> Option<Self> {
        let since = Instant::now();
        (!waits.is_empty()).then(|| Self {
            waits: waits.into(),
            since,
            until: since + cache_timeout.min(MAX_LENGTH),
        })
    }

    /// Returns whether the deadline has passed.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.until <= now
    }

    /// Returns the pending writes, for diagnostics.
    pub(super) fn holding(&self, now: Instant) -> PendingWrites {
        let writes = self.waits.iter().map(|wait| wait.token.clone()).collect();
        PendingWrites { time: now.saturating_duration_since(self.since), writes }
    }

    /// Returns the deadline.
    pub(super) const fn until(&self) -> Instant {
        self.until
    }

    /// Returns the writes.
    pub(super) fn writes(&self) -> &[WriteWait] {
        &self.waits
    }

    /// Waits until all caches have reached the writes; returns `false` at the deadline.
    pub(super) async fn visible(&self) -> bool {
        let left = || self.until.saturating_duration_since(Instant::now());
        let all = async {
            for wait in &*self.waits {
                // One late write decides; further checks would only load the source.
                if !(wait.wait)(left()).await {
                    return false;
                }
            }
            true
        };
        timeout(left() + CHECK_TIMEOUT, all).await.unwrap_or(false)
    }
}
