//! Creation, adoption and deletion of interfaces, and the records of them.

use machinery::controllers::{ActuatorError, Ensured, Note};
use machinery::informers::Lookup;
use machinery::objects::ObjectKey;
use machinery::tokio::time::Instant;

use super::setup::{Agent, Inner};
use crate::drive::InterfaceError;
use crate::model::NetworkAttachment;
use crate::plan::Interface;

impl Agent {
    pub(super) async fn delete_interface(&self, interface: &Interface) -> Result<(), InterfaceError> {
        let since = Instant::now();
        let done = self.0.actuator.remove(&interface.key(), interface).await;
        let op = match interface {
            Interface::Local(_) => "DeleteLocalIfc",
            Interface::Remote(_) => "DeleteRemoteIfc",
        };
        self.0.metrics.called(since, op, &done);
        done
    }

    /// Adopts an interface that existed at start, or creates it. The caller has the turn of the
    /// address.
    pub(super) async fn adopt_or_create(
        &self,
        key: &ObjectKey,
        here: Option<&NetworkAttachment>,
        interface: Interface,
    ) -> Result<(), InterfaceError> {
        let since = Instant::now();
        let created = self.0.actuator.create(&interface.key(), &interface).await;
        if created != Ok(Ensured::Existed) {
            let op = match interface {
                Interface::Local(_) => "CreateLocalIfc",
                Interface::Remote(_) => "CreateRemoteIfc",
            };
            self.0.metrics.called(since, op, &created);
        }
        match created {
            Ok(Ensured::Created) => self.interface_created(key, here, interface),
            Ok(Ensured::Existed) => self.interface_adopted(key, here, interface),
            // The next step creates it.
            Err(ActuatorError::Taken { .. }) if self.displace_remote(&interface).await? => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Deletes a remote interface whose address now belongs, by its lock, to an attachment of this
    /// node: the former holder is deleted, and its event is pending. Returns whether there was one.
    async fn displace_remote(&self, by: &Interface) -> Result<bool, InterfaceError> {
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
