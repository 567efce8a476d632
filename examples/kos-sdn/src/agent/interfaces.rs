//! Creation, adoption and deletion of interfaces, and the records of them.

use machinery::controllers::Note;
use machinery::informers::Lookup;
use machinery::objects::ObjectKey;
use machinery::tokio::time::Instant;

use super::setup::{Agent, Inner};
use crate::drive::FabricError;
use crate::model::NetworkAttachment;
use crate::plan::{AdoptionClaim, Interface};

impl Agent {
    pub(super) async fn delete_interface(&self, interface: &Interface) -> Result<(), FabricError> {
        let (fabric, since) = (&self.0.fabric, Instant::now());
        let (op, done) = match interface {
            Interface::Local(local) => ("DeleteLocalIfc", fabric.delete_local(local).await),
            Interface::Remote(remote) => ("DeleteRemoteIfc", fabric.delete_remote(remote).await),
        };
        self.0.metrics.called(since, op, &done);
        done
    }

    async fn create_interface(&self, interface: &Interface) -> Result<(), FabricError> {
        let (fabric, since) = (&self.0.fabric, Instant::now());
        let (op, done) = match interface {
            Interface::Local(local) => ("CreateLocalIfc", fabric.create_local(local).await),
            Interface::Remote(remote) => ("CreateRemoteIfc", fabric.create_remote(remote).await),
        };
        self.0.metrics.called(since, op, &done);
        done
    }

    /// Adopts an interface that existed at start, or creates it. The address is locked.
    pub(super) async fn adopt_or_create(
        &self,
        key: &ObjectKey,
        here: Option<&NetworkAttachment>,
        interface: Interface,
    ) -> Result<(), FabricError> {
        let (claim, is_last) = {
            let mut unclaimed = self.0.unclaimed.lock();
            (unclaimed.claim(&interface), unclaimed.is_empty())
        };
        match claim {
            AdoptionClaim::Adopted | AdoptionClaim::Broken => {
                if claim == AdoptionClaim::Broken {
                    self.create_interface(&interface).await?;
                }
                self.interface_adopted(key, here, interface);
                if is_last {
                    self.0.claims.notify_one();
                }
                return Ok(());
            }
            AdoptionClaim::Blocked(former) => {
                self.delete_interface(&former).await?;
                self.0.unclaimed.lock().remove(&former);
            }
            AdoptionClaim::Vacant => {}
        }
        match self.create_interface(&interface).await {
            Ok(()) => self.interface_created(key, here, interface),
            // The next step creates it.
            Err(FabricError::Taken { .. }) if self.displace_remote(&interface).await? => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Deletes a remote interface whose address now belongs, by its lock, to an attachment of this
    /// node: the former holder is deleted, and its event is pending. Returns whether there was one.
    async fn displace_remote(&self, by: &Interface) -> Result<bool, FabricError> {
        let Interface::Local(local) = by else { return Ok(false) };
        let is_it = |(_, have): &(&ObjectKey, &Interface)| matches!(have, Interface::Remote(remote) if (remote.vni, remote.address) == (local.vni, local.address));
        let former = self.0.have.lock().iter().find(is_it).map(|(key, have)| (key.clone(), have.clone()));
        let Some((key, former)) = former else { return Ok(false) };
        self.delete_interface(&former).await?;
        let mut have = self.0.have.lock();
        if have.get(&key) == Some(&former) {
            have.remove(&key);
            self.0.metrics.interface_count(&former, false);
        }
        Ok(true)
    }

    fn interface_created(&self, key: &ObjectKey, here: Option<&NetworkAttachment>, interface: Interface) {
        let Inner { metrics, have, .. } = &*self.0;
        match (here, &interface) {
            (Some(here), Interface::Local(local)) => {
                let text = format!(
                    "Created Linux network interface named {} with MAC address {} and IPv4 address {}",
                    local.name, local.mac, local.address
                );
                self.0.recorder.note(Note::normal(self.object_ref(here), "Implemented", text));
                metrics.local_created(here);
                self.0.programs.interface_created(key, local, here);
            }
            (_, Interface::Remote(remote)) => {
                if let Lookup::Unique(_, peer) = self.0.peers.lookup(key) {
                    metrics.remote_created(&peer, self.0.networks.lock().since(remote.vni));
                }
            }
            (None, Interface::Local(_)) => {}
        }
        metrics.interface_count(&interface, true);
        have.lock().insert(key.clone(), interface);
    }

    fn interface_adopted(&self, key: &ObjectKey, here: Option<&NetworkAttachment>, interface: Interface) {
        if let (Some(here), Interface::Local(local)) = (here, &interface) {
            self.0.programs.interface_adopted(key, local, here);
        }
        self.0.metrics.interface_count(&interface, true);
        self.0.have.lock().insert(key.clone(), interface);
    }

    pub(super) fn interface_deleted(&self, key: &ObjectKey, interface: &Interface) {
        self.0.metrics.interface_count(interface, false);
        self.0.have.lock().remove(key);
        self.0.programs.interface_deleted(key);
    }
}
