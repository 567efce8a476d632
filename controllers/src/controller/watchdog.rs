//! The watchdog: reports active runs as stuck.

use std::sync::Arc;

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::handle::Inner;
use crate::Request;

/// Checks all active runs periodically. A separate task, because a blocking run cannot report
/// itself.
pub(super) async fn watch<K: Request, S: Send + Sync>(inner: Arc<Inner<K, S>>, stopping: CancellationToken) {
    let after = inner.spec.settings.stuck_after;
    while stopping.run_until_cancelled(sleep(after / 4)).await.is_some() {
        let now = Instant::now();
        for worker in &inner.workers {
            for busy in worker.lock().iter_mut().filter(|busy| !busy.is_stuck) {
                let time = now.saturating_duration_since(busy.since);
                if time >= after {
                    busy.is_stuck = true;
                    inner.counters.stuck();
                    tracing::warn!(controller = %inner.spec.name, object = %busy.key, ?time, "a run is stuck");
                }
            }
        }
    }
}
