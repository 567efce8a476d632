//! Adoption of existing interfaces at start, and reconciliation of the fabric.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use machinery::informers::AcquireError;
use machinery::objects::ObjectKey;
use machinery::tokio::time::{sleep, timeout};

use super::setup::{Agent, Inner};
use crate::drive::{BrokenInterface, InterfaceList};
use crate::model::NetworkAttachment;
use crate::plan::{Interface, RemoteInterface, desired_local};

/// Interval of retries, and of checks for synced caches.
const AGAIN: Duration = Duration::from_millis(100);
/// Interval of reconciliations after a failed one.
const RETRY: Duration = Duration::from_secs(1);

impl Agent {
    /// Adopts existing interfaces and deletes those without an owner. All relevant caches are
    /// synced before, so a desired interface is never deleted and recreated.
    pub(super) async fn adopt_existing(&self) {
        let Inner { here, .. } = &*self.0;
        while !here.is_synced() {
            sleep(AGAIN).await;
        }
        for (key, attachment) in here.read().iter() {
            while let Err(error) = self.update_interest(key, Some(attachment)) {
                tracing::warn!(%error, "the peers of a network cannot be watched; retrying");
                sleep(AGAIN).await;
            }
        }
        while !self.interests_synced() {
            sleep(AGAIN).await;
        }
        let listed = loop {
            match self.0.fabric.list().await {
                Ok(listed) => break listed,
                Err(error) => tracing::warn!(%error, "the interfaces cannot be listed; retrying"),
            }
            sleep(AGAIN).await;
        };
        self.take_over(listed).await;
    }

    pub(super) fn update_interest(
        &self,
        attachment: &ObjectKey,
        here: Option<&NetworkAttachment>,
    ) -> Result<(), AcquireError> {
        self.0.networks.lock().update(attachment, here)
    }

    fn interests_synced(&self) -> bool {
        self.0.networks.lock().are_synced()
    }

    async fn take_over(&self, listed: InterfaceList) {
        let mut owners: BTreeMap<Interface, ObjectKey> = BTreeMap::new();
        for (key, attachment) in self.0.here.read().iter() {
            if let Some(desired) = desired_local(attachment) {
                owners.insert(desired, key.clone());
            }
        }
        for (_, key, peer) in self.0.peers.read().iter() {
            if let Some((vni, address, host)) = peer.location() {
                owners.insert(Interface::Remote(RemoteInterface::new(vni, address, host)), key.clone());
            }
        }
        for BrokenInterface { interface, error } in listed.broken {
            // One with an owner is created again, which repairs it or reports the error.
            if !owners.contains_key(&interface) {
                tracing::warn!(?interface, %error, "a broken interface without owner is deleted");
                self.delete_orphan(&interface).await;
            }
        }
        let locals = listed.locals.into_iter().map(Interface::Local);
        for found in locals.chain(listed.remotes.into_iter().map(Interface::Remote)) {
            if let Some(owner) = owners.remove(&found) {
                if let (Interface::Local(local), Some(of)) = (&found, self.0.here.get(&owner)) {
                    self.0.programs.interface_adopted(&owner, local, &of);
                }
                self.0.metrics.interface_count(&found, true);
                self.0.have.lock().insert(owner, found);
                continue;
            }
            self.delete_orphan(&found).await;
        }
    }

    async fn delete_orphan(&self, found: &Interface) {
        while let Err(error) = self.delete_interface(found).await {
            tracing::warn!(%error, ?found, "an interface without owner cannot be deleted; retrying");
            sleep(AGAIN).await;
        }
    }

    /// Reconciles the fabric when it is disturbed, and periodically: a restarted switch has no
    /// flows.
    pub(super) async fn reconcile_fabric(&self) {
        let Inner { settings, fabric, repaired, metrics, .. } = &*self.0;
        let mut wait = settings.reconcile_interval;
        loop {
            // Elapsed or disturbed: both lead to a reconciliation.
            let _ = timeout(wait, fabric.disturbed()).await;
            match fabric.reconcile().await {
                Ok(repairs) => {
                    wait = settings.reconcile_interval;
                    if repairs.total() > 0 {
                        repaired.fetch_add(repairs.total() as u64, Ordering::Relaxed);
                        tracing::warn!(node = %settings.node, ?repairs, "the fabric was repaired");
                    }
                    metrics.fabric_repaired(&repairs);
                }
                Err(error) => {
                    tracing::warn!(%error, "the fabric cannot be reconciled; retrying");
                    sleep(AGAIN).await;
                    wait = settings.reconcile_interval.min(RETRY);
                }
            }
            metrics.fabric_status(&fabric.status().await);
        }
    }
}
