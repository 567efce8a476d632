//! What a run wrote, and the next one of its key must see.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::state::PendingWrites;
use crate::reconcile::WriteWait;

/// What a run wrote, and until when that is waited for.
#[derive(Clone)]
pub(super) struct HeldKey {
    waits: Arc<[WriteWait]>,
    since: Instant,
    until: Instant,
}

const MAX_LENGTH: Duration = Duration::from_secs(365 * 24 * 3600);
/// A cache that is behind in the end is held against what its source says, for so long.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

impl HeldKey {
    /// `None` if nothing was written.
    pub(super) fn new(waits: Vec<WriteWait>, cache_timeout: Duration) -> Option<Self> {
        let since = Instant::now();
        (!waits.is_empty()).then(|| Self {
            waits: waits.into(),
            since,
            until: since + cache_timeout.min(MAX_LENGTH),
        })
    }

    /// Whether nobody waits for it any more.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.until <= now
    }

    /// As others may know it.
    pub(super) fn holding(&self, now: Instant) -> PendingWrites {
        let writes = self.waits.iter().map(|wait| wait.token.clone()).collect();
        PendingWrites { time: now.saturating_duration_since(self.since), writes }
    }

    /// Whether all of it can be read in time.
    pub(super) async fn visible(&self) -> bool {
        let left = || self.until.saturating_duration_since(Instant::now());
        let all = async {
            for wait in &*self.waits {
                // Whatever else there is: it is not all. Each that is late is asked for at the source, which may have enough to do.
                if !(wait.wait)(left()).await {
                    return false;
                }
            }
            true
        };
        timeout(left() + CHECK_TIMEOUT, all).await.unwrap_or(false)
    }
}
