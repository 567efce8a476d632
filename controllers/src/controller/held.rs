//! What a run wrote, and the next one of its key must see.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::state::Holding;
use crate::reconcile::Wait;

/// What a run wrote, and until when that is waited for.
#[derive(Clone)]
pub(super) struct Held {
    waits: Arc<[Wait]>,
    since: Instant,
    until: Instant,
}

const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);
/// A cache that is behind in the end is held against what its source says, for so long.
const ASKING: Duration = Duration::from_secs(5);

impl Held {
    /// `None` if nothing was written.
    pub(super) fn new(waits: Vec<Wait>, patience: Duration) -> Option<Self> {
        let since = Instant::now();
        (!waits.is_empty()).then(|| Self { waits: waits.into(), since, until: since + patience.min(LONGEST) })
    }

    /// Whether nobody waits for it any more.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.until <= now
    }

    /// As others may know it.
    pub(super) fn holding(&self, now: Instant) -> Holding {
        let writes = self.waits.iter().map(|wait| wait.token.clone()).collect();
        Holding { time: now.saturating_duration_since(self.since), writes }
    }

    /// Whether all of it can be read in time.
    pub(super) async fn shown(&self) -> bool {
        let left = || self.until.saturating_duration_since(Instant::now());
        let all = async {
            for wait in &*self.waits {
                // Whatever else there is: it is not all. Each that is late is asked for at the source, which may have enough to do.
                if !(wait.shown)(left()).await {
                    return false;
                }
            }
            true
        };
        timeout(left() + ASKING, all).await.unwrap_or(false)
    }
}
