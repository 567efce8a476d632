//! Which networks matter to a node: those of the attachments on it. Of others it hears nothing.

use std::collections::{BTreeMap, BTreeSet};

use machinery::informers::{Interest, KeyedInformers, NotAcquired};
use machinery::objects::ObjectKey;

use crate::metrics::last_write;
use crate::model::{NetworkAttachment, Peer, Vni};
use crate::plan::{LastWrite, network_of};

/// What the node is interested in, and because of whom.
pub(super) struct Networks {
    peers: KeyedInformers<u32, Peer>,
    of: BTreeMap<ObjectKey, Vni>,
    there: BTreeMap<Vni, Network>,
}

struct Network {
    interest: Interest<u32, Peer>,
    because_of: BTreeSet<ObjectKey>,
    /// What made it matter.
    since: Option<LastWrite>,
}

impl Networks {
    pub(super) fn new(peers: KeyedInformers<u32, Peer>) -> Self {
        Self { peers, of: BTreeMap::new(), there: BTreeMap::new() }
    }

    /// An attachment is in this network now, or in none. When the last has left one, what was known of it is let go, and that is told.
    pub(super) fn is_in(
        &mut self,
        who: &ObjectKey,
        here: Option<&NetworkAttachment>,
    ) -> Result<(), NotAcquired> {
        let vni = here.and_then(network_of);
        let before = self.of.get(who).copied();
        if before == vni {
            return Ok(());
        }
        // First the new one: if there is no room for it, all stays as it was.
        if let Some(vni) = vni {
            if let Some(network) = self.there.get_mut(&vni) {
                network.because_of.insert(who.clone());
            } else {
                let interest = self.peers.acquire(vni.number())?;
                let (because_of, since) = (BTreeSet::from([who.clone()]), here.and_then(last_write));
                self.there.insert(vni, Network { interest, because_of, since });
            }
            self.of.insert(who.clone(), vni);
        } else {
            self.of.remove(who);
        }
        if let Some(before) = before
            && let Some(network) = self.there.get_mut(&before)
        {
            network.because_of.remove(who);
            if network.because_of.is_empty() {
                self.there.remove(&before);
            }
        }
        Ok(())
    }

    /// What made one matter, if that is known.
    pub(super) fn since(&self, vni: Vni) -> Option<LastWrite> {
        self.there.get(&vni)?.since
    }

    /// Whether all that is in the networks is known.
    pub(super) fn are_complete(&self) -> bool {
        self.there.values().all(|network| network.interest.is_synced())
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.there.len()
    }
}
