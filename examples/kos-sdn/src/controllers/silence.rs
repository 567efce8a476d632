//! Periodic detection of silent nodes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use machinery::controllers::Controller;
use machinery::informers::Index;
use machinery::objects::{Object as _, ObjectKey};
use machinery::sync::Mutex;
use machinery::tokio::time::sleep;
use machinery::tokio_util::sync::CancellationToken;

use super::ipam::Ipam;
use crate::model::NetworkAttachment;
use crate::plan::SilenceTracker;

/// Key and UID of an attachment.
type Unanswered = (ObjectKey, Option<String>);

/// The attachments of silent nodes.
pub(super) struct SilentNodes {
    /// Index of unanswered attachments under one key.
    unanswered: Index<()>,
    /// Attachments unanswered at the last two checks.
    silent: Mutex<BTreeSet<Unanswered>>,
    /// Interval of checks.
    interval: Duration,
}

impl SilentNodes {
    pub(super) fn new(unanswered: Index<()>, interval: Duration) -> Self {
        Self { unanswered, silent: Mutex::default(), interval }
    }

    pub(super) fn has(&self, attachment: &NetworkAttachment) -> bool {
        self.silent.lock().contains(&(attachment.key(), attachment.metadata.uid.clone()))
    }
}

impl Ipam {
    /// Checks periodically until cancelled.
    pub(super) async fn report_silent_nodes(
        &self,
        controller: &Controller<ObjectKey, Arc<NetworkAttachment>>,
        stopping: &CancellationToken,
    ) {
        let (silent, attachments) = (&self.inner.silent, &self.inner.attachments);
        // No Lease per node: renewals cost a write every few seconds each, a check costs none.
        let mut silence = SilenceTracker::default();
        while stopping.run_until_cancelled(sleep(silent.interval)).await.is_some() {
            let now: BTreeSet<Unanswered> = {
                let all = attachments.read();
                let now = all.by(&silent.unanswered, &());
                now.map(|(key, one)| (key.clone(), one.metadata.uid.clone())).collect()
            };
            let found = silence.check(now);
            *silent.silent.lock() = found.iter().cloned().collect();
            for (key, _) in found {
                controller.request(key, &"its node is silent").await;
            }
        }
    }
}
