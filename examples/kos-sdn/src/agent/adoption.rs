//! Adoption of the interfaces that exist when an agent starts.
//!
//! Attachments claim their interfaces one by one, in their first runs. An interface that cannot be
//! deleted, or a network whose peers are unknown, delays no other.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use super::setup::{Agent, Inner};
use crate::model::Vni;
use crate::plan::{
    AddressKey, Interface, PeerKnowledge, RemoteInterface, desired_local, is_orphan, network_of,
};

impl Agent {
    /// Waits for the attachments of this node, and for the list of the existing interfaces.
    pub(super) async fn existing_listed(&self) {
        let Inner { here, actuator, .. } = &*self.0;
        if here.synced().await.is_err() {
            return; // the plane stops
        }
        for (key, attachment) in here.read().iter() {
            // A failure is reported by the run of the attachment.
            let _ = self.update_interest(key, Some(attachment));
        }
        let mut changes = actuator.changes();
        while actuator.loaded().await.is_err() {
            let _ = changes.changed().await;
        }
    }

    /// Deletes interfaces without an owner, until all others are claimed.
    pub(super) async fn delete_orphans(&self) {
        self.0.actuator.delete_orphans(|unclaimed| self.orphans(unclaimed)).await;
        self.0.is_ready.store(true, Ordering::Relaxed);
    }

    fn orphans(&self, unclaimed: Vec<(AddressKey, Interface)>) -> Vec<AddressKey> {
        let Inner { here, peers, .. } = &*self.0;
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
        let orphans =
            unclaimed.into_iter().filter(|(_, one)| is_orphan(one, desired.contains(one), knowledge));
        orphans.map(|(key, _)| key).collect()
    }
}
