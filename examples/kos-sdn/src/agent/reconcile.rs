//! Reconciliation of one attachment, step by step.

use machinery::controllers::{Controller, Note, Settings};
use machinery::informers::Lookup;
use machinery::objects::{Event, Kind, ObjectKey, Preconditions, WriteError, Written};
use machinery::tokio::time::Instant;
use machinery::{Next, Plane, Reconcile, Run};

use super::setup::{Agent, Inner};
use crate::drive::FabricError;
use crate::model::{AttachmentStatus, NetworkAttachment, Peer};
use crate::plan::{AgentStep, AgentView, FINALIZER, Interface, PeerLocation, next_step};

/// Above the number of steps of any correct run.
const MAX_STEPS: usize = 16;
/// Number of run records kept; thousands of agents may run in one process.
const REMEMBERED: usize = 256;

impl Agent {
    pub(super) fn controller(&self, plane: &Plane) -> machinery::Result<Controller<ObjectKey, ObjectKey>> {
        let Inner { here, peers, settings, .. } = &*self.0;
        let name = format!("agent-{}", settings.node);
        // Of requests: an attachment that is gone may still have an interface here.
        let controller = plane
            .controller_of_requests::<ObjectKey>(&name)
            .watching_informer("attachments", here, |event| {
                [machinery::objects::Object::key(&**event.object())]
            })
            .watching_keyed("peers", peers, |_, event: &Event<std::sync::Arc<Peer>>| {
                [machinery::objects::Object::key(&**event.object())]
            })
            .settings(Settings { records: REMEMBERED, ..Settings::default() });
        controller.build()
    }

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

    fn peer_location(&self, key: &ObjectKey) -> PeerLocation {
        match self.0.peers.lookup(key) {
            Lookup::Unique(_, peer) => peer
                .location()
                .map_or(PeerLocation::Absent, |(vni, address, host)| PeerLocation::At(vni, address, host)),
            Lookup::Ambiguous(_) => PeerLocation::Ambiguous,
            Lookup::Absent => PeerLocation::Absent,
        }
    }

    async fn write_status(
        &self,
        here: &NetworkAttachment,
        status: AttachmentStatus,
    ) -> Result<Written<NetworkAttachment>, WriteError> {
        let (since, has_errors) = (Instant::now(), !status.errors.host.is_empty());
        let updated = NetworkAttachment { status, ..here.clone() };
        let written = self.0.writer.update_status(&updated, &Preconditions::default()).await;
        self.0.metrics.status_written(
            since,
            here,
            written.as_ref().map(|written| &written.object),
            has_errors,
        );
        written
    }

    async fn write_finalizer(
        &self,
        here: &NetworkAttachment,
        present: bool,
    ) -> Result<Written<NetworkAttachment>, WriteError> {
        let mut here = here.clone();
        let finalizers = here.metadata.finalizers.get_or_insert_default();
        finalizers.retain(|finalizer| finalizer != FINALIZER);
        if present {
            finalizers.push(FINALIZER.into());
        }
        self.0.writer.update(&here, &Preconditions::default()).await
    }
}

impl Reconcile<ObjectKey> for Agent {
    type Error = machinery::Error;

    async fn reconcile(&self, key: &ObjectKey, run: &Run) -> machinery::Result<Next> {
        let inner = &*self.0;
        let mut here = inner.here.get(key).map(std::sync::Arc::unwrap_or_clone);
        self.update_interest(key, here.as_ref())?;
        let mut failed = None::<FabricError>;
        for _ in 0..MAX_STEPS {
            let (report, mut wrong) =
                here.as_ref().map(|here| inner.programs.report_of(key, here)).unwrap_or_default();
            wrong.extend(failed.as_ref().map(ToString::to_string));
            let have = inner.have.lock().get(key).cloned();
            let step = next_step(&AgentView {
                host: inner.settings.host,
                here: here.as_ref(),
                location: self.peer_location(key),
                actual: have.as_ref(),
                report: report.as_ref(),
                errors: &wrong,
                failed: failed.is_some(),
            });
            let written = match (step, &here) {
                (AgentStep::Done, _) => return failed.map_or(Ok(Next::Done), |error| Err(error.into())),
                (AgentStep::Create(interface), _) => {
                    // Until the result is recorded: no run for this address sees half of it.
                    let _turn = inner.address_locks.of(&interface).await;
                    match self.create_interface(&interface).await {
                        Ok(()) => self.interface_created(key, here.as_ref(), interface),
                        Err(FabricError::Taken { .. }) if self.displace_remote(&interface).await? => {}
                        Err(error) => failed = Some(error),
                    }
                    continue;
                }
                (AgentStep::Delete(interface), _) => {
                    let _turn = inner.address_locks.of(&interface).await;
                    if inner.have.lock().get(key) != Some(&interface) {
                        continue; // displaced meanwhile
                    }
                    match self.delete_interface(&interface).await {
                        Ok(()) => self.interface_deleted(key, &interface),
                        Err(error) => failed = Some(error),
                    }
                    continue;
                }
                (AgentStep::AddFinalizer, Some(here)) => self.write_finalizer(here, true).await,
                (AgentStep::RemoveFinalizer, Some(here)) => self.write_finalizer(here, false).await,
                (AgentStep::WriteStatus(status), Some(here)) => self.write_status(here, *status).await,
                (AgentStep::AddFinalizer | AgentStep::RemoveFinalizer | AgentStep::WriteStatus(_), None) => {
                    return Ok(Next::Done);
                }
            };
            match written {
                Ok(written) => {
                    run.wrote(&written.token, &inner.here);
                    here = Some(written.object);
                }
                // Deleted meanwhile; its event triggers another run.
                Err(WriteError::NotFound) => return Ok(Next::Done),
                Err(error) => return Err(error.into()),
            }
        }
        Err("the agent exceeded its limit of steps: this is a bug".into())
    }
}

impl Agent {
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

    fn interface_deleted(&self, key: &ObjectKey, interface: &Interface) {
        self.0.metrics.interface_count(interface, false);
        self.0.have.lock().remove(key);
        self.0.programs.interface_deleted(key);
    }
}

impl Inner {
    pub(super) fn writer_kind(&self) -> Kind {
        Kind::of::<NetworkAttachment>().unwrap_or_else(|_| machinery::controllers::EventObject::kind())
    }
}
