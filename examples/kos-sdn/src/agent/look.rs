//! What an agent looks at before it does anything, and again and again: what is on the node.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use machinery::informers::NotAcquired;
use machinery::objects::ObjectKey;
use machinery::tokio::time::sleep;

use super::begin::{Agent, Inner};
use crate::drive::{Audit, Listed};
use crate::model::NetworkAttachment;
use crate::plan::{Interface, Remote, wanted_here};

/// So long between two tries to reach the switch, and two looks whether all is known.
const AGAIN: Duration = Duration::from_millis(100);

impl Agent {
    /// Finds out whose the interfaces are that are there already, and takes away those that are nobody's. An owner is known when all that matters is: so
    /// an interface that is wanted is never taken away and made again.
    pub(super) async fn look(&self) {
        let Inner { here, .. } = &*self.0;
        while !here.is_synced() {
            sleep(AGAIN).await;
        }
        for (key, attachment) in here.read().iter() {
            while let Err(error) = self.matters(key, Some(attachment)) {
                tracing::warn!(%error, "a network that matters cannot be listened to; it is tried again");
                sleep(AGAIN).await;
            }
        }
        while !self.knows_all() {
            sleep(AGAIN).await;
        }
        let listed = loop {
            match self.0.fabric.list().await {
                Ok(listed) => break listed,
                Err(error) => tracing::warn!(%error, "what is there cannot be listed; it is tried again"),
            }
            sleep(AGAIN).await;
        };
        self.adopt(listed).await;
    }

    pub(super) fn matters(
        &self,
        who: &ObjectKey,
        here: Option<&NetworkAttachment>,
    ) -> Result<(), NotAcquired> {
        self.0.networks.lock().is_in(who, here)
    }

    fn knows_all(&self) -> bool {
        self.0.networks.lock().are_complete()
    }

    async fn adopt(&self, listed: Listed) {
        let mut owners: BTreeMap<Interface, ObjectKey> = BTreeMap::new();
        for (key, attachment) in self.0.here.read().iter() {
            if let Some(wanted) = wanted_here(attachment) {
                owners.insert(wanted, key.clone());
            }
        }
        for (_, key, peer) in self.0.peers.read().iter() {
            if let Some((vni, address, host)) = peer.place() {
                owners.insert(Interface::Remote(Remote::new(vni, address, host)), key.clone());
            }
        }
        let locals = listed.locals.into_iter().map(Interface::Local);
        for found in locals.chain(listed.remotes.into_iter().map(Interface::Remote)) {
            if let Some(owner) = owners.remove(&found) {
                if let (Interface::Local(local), Some(of)) = (&found, self.0.here.get(&owner)) {
                    self.0.beside.found(&owner, local, &of);
                }
                self.0.metrics.has(&found, true);
                self.0.have.lock().insert(owner, found);
                continue;
            }
            while let Err(error) = self.unmake(&found).await {
                tracing::warn!(%error, ?found, "an interface of nobody cannot be taken away; it is tried again");
                sleep(AGAIN).await;
            }
        }
    }

    /// Holds the flows against those that should be there, as often as said, and puts them right: a switch that begins anew has none.
    pub(super) async fn audit(&self) {
        let Inner { settings, fabric, repaired, .. } = &*self.0;
        loop {
            sleep(settings.audit).await;
            match fabric.audit().await {
                Ok(Audit { missing: 0, foreign: 0 }) => {}
                Ok(Audit { missing, foreign }) => {
                    repaired.fetch_add((missing + foreign) as u64, Ordering::Relaxed);
                    let node = &settings.node;
                    tracing::warn!(%node, missing, foreign, "flows were not as they should be, and are now");
                }
                Err(error) => tracing::warn!(%error, "the flows cannot be looked at; it is tried again"),
            }
        }
    }
}
