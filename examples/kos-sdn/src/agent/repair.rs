//! Reconciliation of the fabric, and reports of interfaces that do not work.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use machinery::controllers::Controller;
use machinery::objects::ObjectKey;
use machinery::tokio::time::{sleep, timeout};

use super::setup::{Agent, Inner};
use crate::drive::{BrokenInterface, FabricStatus};
use crate::plan::Interface;

/// Minimum interval of reconciliations: a disturbance that no repair ends costs little.
const PAUSE: Duration = Duration::from_millis(50);
/// Interval of reconciliations after a failed one.
const RETRY: Duration = Duration::from_secs(1);

impl Agent {
    /// Reconciles the fabric when it is disturbed, and periodically: a restarted switch has no
    /// flows.
    pub(super) async fn reconcile_fabric(&self, controller: &Controller<ObjectKey, ObjectKey>) {
        let Inner { settings, fabric, repaired, metrics, .. } = &*self.0;
        let mut wait = settings.reconcile_interval;
        loop {
            // Elapsed or disturbed: both lead to a reconciliation.
            let _ = timeout(wait, fabric.disturbed()).await;
            match fabric.reconcile().await {
                Ok(repairs) => {
                    wait = settings.reconcile_interval;
                    self.set_trouble(None);
                    if repairs.total() > 0 {
                        repaired.fetch_add(repairs.total() as u64, Ordering::Relaxed);
                        tracing::warn!(node = %settings.node, ?repairs, "the fabric was repaired");
                    }
                    metrics.fabric_repaired(&repairs);
                }
                Err(error) => {
                    wait = settings.reconcile_interval.min(RETRY);
                    if self.set_trouble(Some(error.to_string())) {
                        tracing::warn!(%error, "the fabric cannot be reconciled; retrying");
                    }
                }
            }
            let status = fabric.status().await;
            metrics.fabric_status(&status);
            for key in self.record_broken(status) {
                controller.request(key, &"its interface broke or was repaired").await;
            }
            sleep(PAUSE).await;
        }
    }

    /// Returns the error of an interface that does not work.
    pub(super) fn error_of(&self, interface: &Interface) -> Option<String> {
        self.0.broken.lock().get(interface).cloned()
    }

    /// Records the broken interfaces, and returns the attachments for which something changed.
    fn record_broken(&self, status: FabricStatus) -> Vec<ObjectKey> {
        let text = |BrokenInterface { interface, error }| (interface, error.to_string());
        let now: BTreeMap<Interface, String> = status.broken.into_iter().map(text).collect();
        let before = std::mem::replace(&mut *self.0.broken.lock(), now.clone());
        if before == now {
            return Vec::new();
        }
        let have = self.0.have.lock();
        let changed = have.iter().filter(|(_, interface)| before.get(*interface) != now.get(*interface));
        changed.map(|(key, _)| key.clone()).collect()
    }
}
