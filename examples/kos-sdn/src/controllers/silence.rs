//! Looks for attachments whose nodes do not answer, so that it is said of them.

use std::collections::BTreeSet;
use std::time::Duration;

use machinery::informers::Index;
use machinery::sync::Mutex;
use machinery::tokio::time::sleep;
use machinery::tokio_util::sync::CancellationToken;

use super::ipam::Ipam;
use super::known::Waiting;
use super::listen::uid_of;
use crate::plan::Silence;

/// Who is silent, and how that is found out.
pub(super) struct Silent {
    /// Those who are not answered, all under one.
    pub(super) unanswered: Index<()>,
    /// Of those it is to be said.
    told: Mutex<BTreeSet<Waiting>>,
    /// So long a node may take.
    patience: Duration,
}

impl Silent {
    pub(super) fn new(unanswered: Index<()>, patience: Duration) -> Self {
        Self { unanswered, told: Mutex::default(), patience }
    }

    pub(super) fn has(&self, who: &Waiting) -> bool {
        self.told.lock().contains(who)
    }
}

impl Ipam {
    /// Looks again and again, until it is told to stop.
    pub(super) async fn attends(&self, stopping: &CancellationToken) {
        let (silent, attachments) = (&self.inner.silent, &self.inner.attachments);
        let mut silence = Silence::default();
        while stopping.run_until_cancelled(sleep(silent.patience)).await.is_some() {
            let now: BTreeSet<_> = {
                let all = attachments.read();
                let now = all.by(&silent.unanswered, &());
                now.map(|(key, one)| Waiting { key: key.clone(), uid: uid_of(one) }).collect()
            };
            let found = silence.look(now);
            *silent.told.lock() = found.iter().cloned().collect();
            self.ask(found, &"its node does not answer").await;
        }
    }
}
