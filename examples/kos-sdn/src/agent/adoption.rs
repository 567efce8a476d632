//! Adoption of the interfaces that exist when an agent starts.
//!
//! Attachments claim their interfaces one by one, in their first runs. An interface that cannot be
//! deleted, or a network whose peers are unknown, delays no other.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::{StreamExt as _, stream};
use machinery::tokio::time::{Instant, sleep, timeout};

use super::setup::{Agent, Inner};
use crate::drive::FabricError;
use crate::model::Vni;
use crate::plan::{
    Interface, PeerKnowledge, RemoteInterface, UnclaimedInterfaces, desired_local, network_of,
};

/// Interval of retries, and of checks of the caches.
const AGAIN: Duration = Duration::from_millis(100);
/// Longest interval of retries.
const SLOW: Duration = Duration::from_secs(10);
/// Number of concurrent deletions.
const AT_ONCE: usize = 64;
/// Time limit of one deletion.
const TIME_LIMIT: Duration = Duration::from_secs(30);

impl Agent {
    /// Waits for the attachments of this node, and lists the existing interfaces.
    pub(super) async fn list_existing(&self) {
        let Inner { here, fabric, unclaimed, .. } = &*self.0;
        if here.synced().await.is_err() {
            return; // the plane stops
        }
        for (key, attachment) in here.read().iter() {
            // A failure is reported by the run of the attachment.
            let _ = self.update_interest(key, Some(attachment));
        }
        let mut wait = AGAIN;
        loop {
            match fabric.list().await {
                Ok(listed) => {
                    self.set_trouble(None);
                    return *unclaimed.lock() = UnclaimedInterfaces::new(listed);
                }
                Err(error) if self.set_trouble(Some(error.to_string())) => {
                    tracing::warn!(%error, "the interfaces cannot be listed; retrying");
                }
                Err(_) => {}
            }
            sleep(wait).await;
            wait = (wait * 2).min(SLOW);
        }
    }

    /// Deletes interfaces without an owner, until none is left that no attachment has claimed.
    pub(super) async fn delete_orphans(&self) {
        let Inner { unclaimed, claims, is_ready, metrics, .. } = &*self.0;
        let mut due = std::collections::BTreeMap::<Interface, Instant>::new();
        loop {
            let orphans = self.orphans();
            let pending = unclaimed.lock().len().saturating_sub(orphans.len());
            metrics.orphans(orphans.len());
            if pending == 0 {
                is_ready.store(true, Ordering::Relaxed);
            }
            if pending + orphans.len() == 0 {
                return;
            }
            let now = Instant::now();
            let is_due = |(interface, _): &(Interface, u32)| due.get(interface).is_none_or(|at| *at <= now);
            let attempts = orphans.into_iter().filter(is_due).map(|(interface, failures)| async move {
                let deleted = self.delete_orphan(&interface).await;
                (interface, failures, deleted)
            });
            let attempts: Vec<_> = stream::iter(attempts).buffer_unordered(AT_ONCE).collect().await;
            for (interface, failures, deleted) in attempts {
                let Err(error) = deleted else { continue };
                if unclaimed.lock().failed(&interface, error.to_string()) {
                    tracing::warn!(%error, ?interface, "an interface without owner cannot be deleted; retrying");
                }
                let wait = AGAIN.saturating_mul(1 << failures.min(16)).min(SLOW);
                due.insert(interface, Instant::now() + wait);
            }
            let claimed = async {
                while !unclaimed.lock().is_empty() {
                    claims.notified().await;
                }
            };
            let _ = timeout(AGAIN, claimed).await;
        }
    }

    /// Deletes an orphan, unless it was claimed meanwhile.
    async fn delete_orphan(&self, interface: &Interface) -> Result<(), FabricError> {
        let Inner { address_locks, unclaimed, .. } = &*self.0;
        let deletion = async {
            let _turn = address_locks.of(interface).await;
            if unclaimed.lock().contains(interface) {
                self.delete_interface(interface).await?;
                unclaimed.lock().remove(interface);
            }
            Ok(())
        };
        let late = || FabricError::Unavailable { reason: format!("no result within {TIME_LIMIT:?}") };
        timeout(TIME_LIMIT, deletion).await.unwrap_or_else(|_| Err(late()))
    }

    fn orphans(&self) -> Vec<(Interface, u32)> {
        let Inner { here, peers, unclaimed, .. } = &*self.0;
        if unclaimed.lock().is_empty() {
            return Vec::new();
        }
        let (mut desired, mut needed) = (BTreeSet::new(), BTreeSet::new());
        // The knowledge is read before the peers: those of a network that is complete are all there.
        for (_, attachment) in here.read().iter() {
            desired.extend(desired_local(attachment));
            needed.extend(network_of(attachment));
        }
        let complete: BTreeSet<Vni> = {
            let networks = self.0.networks.lock();
            needed.iter().copied().filter(|vni| networks.is_synced(*vni)).collect()
        };
        for (_, _, peer) in peers.read().iter() {
            if let Some((vni, address, host)) = peer.location() {
                desired.insert(Interface::Remote(RemoteInterface::new(vni, address, host)));
            }
        }
        let knowledge = |vni: Vni| match (needed.contains(&vni), complete.contains(&vni)) {
            (false, _) => PeerKnowledge::Unneeded,
            (true, false) => PeerKnowledge::Pending,
            (true, true) => PeerKnowledge::Complete,
        };
        unclaimed.lock().orphans(|interface| desired.contains(interface), knowledge)
    }
}
