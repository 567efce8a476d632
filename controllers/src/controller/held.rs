//! What a run wrote, and the next one of its key must see.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::reconcile::Wait;

/// What a run wrote, and until when that is waited for.
#[derive(Clone)]
pub(super) struct Held {
    waits: Arc<[Wait]>,
    until: Instant,
}

const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);
/// A cache that is behind in the end is held against what its source says, for so long.
const ASKING: Duration = Duration::from_secs(5);

impl Held {
    /// `None` if nothing was written.
    pub(super) fn new(waits: Vec<Wait>, patience: Duration) -> Option<Self> {
        let until = Instant::now() + patience.min(LONGEST);
        (!waits.is_empty()).then(|| Self { waits: waits.into(), until })
    }

    /// Whether nobody waits for it any more.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.until <= now
    }

    /// Whether all of it can be read in time.
    pub(super) async fn shown(&self) -> bool {
        let left = || self.until.saturating_duration_since(Instant::now());
        let all = async {
            let mut all = true;
            for wait in &*self.waits {
                all &= wait(left()).await;
            }
            all
        };
        timeout(left() + ASKING, all).await.unwrap_or(false)
    }
}
