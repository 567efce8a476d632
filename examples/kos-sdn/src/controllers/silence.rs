//! Periodic detection of silent nodes.

use std::collections::BTreeSet;
use std::time::Duration;

use machinery::informers::Index;
use machinery::sync::Mutex;
use machinery::tokio::time::sleep;
use machinery::tokio_util::sync::CancellationToken;

use super::allocations::Waiter;
use super::events::uid_of;
use super::ipam::Ipam;
use crate::plan::SilenceTracker;

/// The attachments of silent nodes.
pub(super) struct SilentNodes {
    /// Index of unanswered attachments under one key.
    pub(super) unanswered: Index<()>,
    /// Attachments unanswered at the last two checks.
    silent: Mutex<BTreeSet<Waiter>>,
    /// Interval of checks.
    interval: Duration,
}

impl SilentNodes {
    pub(super) fn new(unanswered: Index<()>, interval: Duration) -> Self {
        Self { unanswered, silent: Mutex::default(), interval }
    }

    pub(super) fn has(&self, waiter: &Waiter) -> bool {
        self.silent.lock().contains(waiter)
    }
}

impl Ipam {
    /// Checks periodically until cancelled.
    pub(super) async fn report_silent_nodes(&self, stopping: &CancellationToken) {
        let (silent, attachments) = (&self.inner.silent, &self.inner.attachments);
        // No Lease per node: renewals cost a write every few seconds each, a check costs none.
        let mut silence = SilenceTracker::default();
        while stopping.run_until_cancelled(sleep(silent.interval)).await.is_some() {
            let now: BTreeSet<_> = {
                let all = attachments.read();
                let now = all.by(&silent.unanswered, &());
                now.map(|(key, one)| Waiter { key: key.clone(), uid: uid_of(one) }).collect()
            };
            let found = silence.check(now);
            *silent.silent.lock() = found.iter().cloned().collect();
            self.request_all(found, &"its node is silent").await;
        }
    }
}
