//! Changes of the switch that are not compared yet.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use machinery::controllers::Disturbance;
use machinery::sync::Mutex;
use machinery::tokio::sync::Notify;

use super::SwitchConnections;
use crate::drive::ovs::links::{LinkEvent, NamespaceName};

/// Changes of the switch, by this fabric or by others, since the last comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Suspicion {
    /// Rows, flows or ports have changed, or a connection was established.
    pub(super) is_switch: bool,
    /// The switch has a new connection, as after its restart: all flows may be gone.
    pub(super) is_urgent: bool,
    /// Any link may have changed.
    pub(super) are_links: bool,
    /// Names of links that have changed.
    pub(super) links: BTreeSet<String>,
    /// Namespaces that have changed.
    pub(super) namespaces: BTreeSet<NamespaceName>,
}

/// Collects suspicions. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Suspicions(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    pending: Mutex<PendingSuspicion>,
    changed: Notify,
    are_links_watched: AtomicBool,
}

/// Suspicions that no comparison has taken.
#[derive(Debug, Default)]
struct PendingSuspicion {
    suspicion: Suspicion,
    is_reported: bool,
}

impl Suspicions {
    fn add(&self, change: impl FnOnce(&mut Suspicion)) {
        {
            let mut pending = self.0.pending.lock();
            change(&mut pending.suspicion);
            pending.is_reported = false;
        }
        self.0.changed.notify_one();
    }

    /// Adds that the switch has to be compared at once.
    pub(super) fn suspect_switch(&self) {
        self.add(|suspicion| (suspicion.is_switch, suspicion.is_urgent) = (true, true));
    }

    /// Waits for a suspicion that was not reported. Dropping the future loses none.
    pub(super) async fn reported(&self) -> Disturbance {
        loop {
            {
                let mut pending = self.0.pending.lock();
                if pending.suspicion != Suspicion::default() && !pending.is_reported {
                    pending.is_reported = true;
                    let is_urgent = pending.suspicion.is_urgent;
                    return if is_urgent { Disturbance::Restarted } else { Disturbance::Changed };
                }
            }
            self.0.changed.notified().await;
        }
    }

    /// Takes the suspicions so far.
    pub(super) fn take(&self) -> Suspicion {
        std::mem::take(&mut *self.0.pending.lock()).suspicion
    }

    /// Returns whether changes of links are reported.
    pub(super) fn are_links_watched(&self) -> bool {
        self.0.are_links_watched.load(Ordering::SeqCst)
    }

    /// Watches the connections. Never returns.
    pub(super) async fn watch(&self, connections: &SwitchConnections) {
        machinery::tokio::join!(
            self.watch_rows(connections),
            self.watch_flows(connections),
            self.watch_links(connections)
        );
    }

    async fn watch_rows(&self, connections: &SwitchConnections) {
        let mut version = connections.database.snapshot().version;
        loop {
            version = connections.database.changed(version).await.version;
            self.add(|suspicion| suspicion.is_switch = true);
        }
    }

    async fn watch_flows(&self, connections: &SwitchConnections) {
        let mut status = connections.flows.status();
        let mut seen = status.borrow().epoch;
        // Ends with the client of the switch.
        while status.changed().await.is_ok() {
            let epoch = status.borrow_and_update().epoch;
            self.add(|suspicion| {
                suspicion.is_switch = true;
                suspicion.is_urgent |= epoch != seen;
            });
            seen = epoch;
        }
    }

    async fn watch_links(&self, connections: &SwitchConnections) {
        loop {
            match connections.links.watch().await {
                Ok(mut events) => {
                    self.0.are_links_watched.store(true, Ordering::SeqCst);
                    // Changes before the watch were not reported.
                    self.add(|suspicion| suspicion.are_links = true);
                    while let Some(event) = events.next().await {
                        self.add(|suspicion| match event {
                            LinkEvent::Lost => suspicion.are_links = true,
                            LinkEvent::Link { name } => drop(suspicion.links.insert(name)),
                            LinkEvent::Namespace { name } => drop(suspicion.namespaces.insert(name)),
                        });
                    }
                    self.0.are_links_watched.store(false, Ordering::SeqCst);
                    self.add(|suspicion| suspicion.are_links = true);
                }
                Err(error) => tracing::debug!(%error, "links cannot be watched; retrying"),
            }
            machinery::tokio::time::sleep(WATCH_INTERVAL).await;
        }
    }
}

/// Interval of attempts to watch links.
const WATCH_INTERVAL: std::time::Duration = std::time::Duration::from_millis(200);
