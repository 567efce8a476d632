//! The networks of a node's attachments; the agent watches peers of these networks only.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use machinery::informers::{AcquireError, Interest, KeyedInformers};
use machinery::objects::ObjectKey;
use machinery::tokio::time::Instant;

use crate::metrics::last_write;
use crate::model::{NetworkAttachment, Peer, Vni};
use crate::plan::{LastWrite, network_of};

/// The interests in peers, by network, and the attachments that require them.
pub(super) struct NetworkInterests {
    peers: KeyedInformers<u32, Peer>,
    network_of_attachment: BTreeMap<ObjectKey, Vni>,
    interests: BTreeMap<Vni, NetworkInterest>,
}

struct NetworkInterest {
    interest: Interest<u32, Peer>,
    required_by: BTreeSet<ObjectKey>,
    /// The client write that made the node watch the network.
    since: Option<LastWrite>,
    /// Time of the acquisition.
    acquired: Instant,
}

impl NetworkInterests {
    pub(super) fn new(peers: KeyedInformers<u32, Peer>) -> Self {
        Self { peers, network_of_attachment: BTreeMap::new(), interests: BTreeMap::new() }
    }

    /// Records the network of an attachment. Dropping the last attachment of a network releases the
    /// interest; the cached peers are then reported as deleted.
    pub(super) fn update(
        &mut self,
        attachment: &ObjectKey,
        here: Option<&NetworkAttachment>,
    ) -> Result<(), AcquireError> {
        let vni = here.and_then(network_of);
        let before = self.network_of_attachment.get(attachment).copied();
        if before == vni {
            return Ok(());
        }
        // Acquire before release: if the limit of interests is reached, nothing changes.
        if let Some(vni) = vni {
            if let Some(network) = self.interests.get_mut(&vni) {
                network.required_by.insert(attachment.clone());
            } else {
                let interest = self.peers.acquire(vni.number())?;
                let (required_by, since) = (BTreeSet::from([attachment.clone()]), here.and_then(last_write));
                let network = NetworkInterest { interest, required_by, since, acquired: Instant::now() };
                self.interests.insert(vni, network);
            }
            self.network_of_attachment.insert(attachment.clone(), vni);
        } else {
            self.network_of_attachment.remove(attachment);
        }
        if let Some(before) = before
            && let Some(network) = self.interests.get_mut(&before)
        {
            network.required_by.remove(attachment);
            if network.required_by.is_empty() {
                self.interests.remove(&before);
            }
        }
        Ok(())
    }

    /// Returns the client write that made the node watch a network, if known.
    pub(super) fn since(&self, vni: Vni) -> Option<LastWrite> {
        self.interests.get(&vni)?.since
    }

    /// Returns true if the peers of a network are cached.
    pub(super) fn is_synced(&self, vni: Vni) -> bool {
        self.interests.get(&vni).is_some_and(|network| network.interest.is_synced())
    }

    /// Returns an error if the peers of a watched network are missing after a timeout.
    pub(super) fn late(&self, vni: Vni, timeout: Duration) -> Option<String> {
        let network = self.interests.get(&vni).filter(|network| !network.interest.is_synced())?;
        if network.acquired.elapsed() < timeout {
            return None;
        }
        let reason = self.peers.state().trouble.map(|trouble| format!(": {trouble}")).unwrap_or_default();
        Some(format!("the peers of network {vni} are not known yet{reason}"))
    }

    /// Returns the number of networks.
    pub(super) fn len(&self) -> usize {
        self.interests.len()
    }
}
