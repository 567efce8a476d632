//! The items that existed at start, until each is claimed or deleted.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::shared::{ItemOf, KeyOf};
use super::{Actuator, ActuatorError, ActuatorPort};

impl<P: ActuatorPort + ?Sized> Actuator<P> {
    /// Deletes the items that existed at start and have no owner. Returns when every item is
    /// claimed or disowned, or the actuator stops; failed deletions are retried by the actuator.
    ///
    /// `orphans` gets the unclaimed items and returns the keys of those that have certainly no
    /// owner. It is called again while some are left, unless claims arrive: so a search costs
    /// little beside them.
    pub async fn delete_orphans(
        &self,
        orphans: impl Fn(Vec<(KeyOf<P>, ItemOf<P>)>) -> Vec<KeyOf<P>> + Send + Sync,
    ) {
        let shared = &self.0;
        let mut before = None;
        let mut interval = shared.settings.orphan_interval;
        loop {
            let all_claimed = shared.all_claimed.listen();
            let unclaimed = self.loaded().await.map(|()| shared.state.lock().ledger.unclaimed_count());
            if matches!(unclaimed, Ok(0) | Err(ActuatorError::Stopped { .. })) {
                return;
            }
            // Claims in progress are no reason to search.
            if let Ok(unclaimed) = unclaimed
                && before.replace(unclaimed) == Some(unclaimed)
            {
                let began = Instant::now();
                let items = shared.state.lock().ledger.unclaimed();
                let keys = orphans(items);
                let mut state = shared.state.lock();
                let disowned = state.ledger.disown(keys);
                for key in &disowned {
                    state.enqueue(key, Duration::ZERO);
                }
                drop(state);
                if !disowned.is_empty() {
                    tracing::info!(actuator = %shared.name, items = disowned.len(), "items without owner are deleted");
                    shared.changed();
                    continue;
                }
                interval = shared.settings.orphan_interval.max(began.elapsed() * 10);
            }
            let _ = timeout(interval, all_claimed).await;
        }
    }
}
