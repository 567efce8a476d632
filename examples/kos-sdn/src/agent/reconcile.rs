//! Reconciliation of one attachment, step by step.

use std::time::Duration;

use jiff::Timestamp;
use machinery::controllers::{Controller, Settings};
use machinery::informers::{AcquireError, Lookup};
use machinery::objects::{
    Event, Kind, Object as _, ObjectKey, Patch, PatchFormat, Preconditions, WriteError, Written,
};
use machinery::tokio::time::Instant;
use machinery::{Next, Plane, Reconcile, Run};
use serde_json::json;

use super::setup::{Agent, Inner};
use crate::drive::InterfaceError;
use crate::model::{AGENT_FIELDS, AttachmentStatus, NetworkAttachment, Peer, Vni};
use crate::plan::{AgentStep, AgentView, FINALIZER, PeerLocation, network_of, next_step};

/// Above the number of steps of any correct run.
const MAX_STEPS: usize = 16;
/// Interval of runs until the peers of an attachment's network are known.
const PENDING: Duration = Duration::from_secs(1);
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
            .settings(Settings { records: REMEMBERED, workers: settings.workers, ..Settings::default() });
        controller.build()
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

    pub(super) fn update_interest(
        &self,
        attachment: &ObjectKey,
        here: Option<&NetworkAttachment>,
    ) -> Result<(), AcquireError> {
        self.0.networks.lock().update(attachment, here)
    }

    /// Returns the reason why the peers of an attachment's network are unknown, if that lasts.
    fn network_error(&self, here: &NetworkAttachment, watched: &Result<(), AcquireError>) -> Option<String> {
        let vni = network_of(here)?;
        match watched {
            Ok(()) => self.0.networks.lock().late(vni, self.0.settings.peers_timeout),
            Err(error) => Some(format!("the peers of network {vni} cannot be watched: {error}")),
        }
    }

    fn knows(&self, vni: Vni) -> bool {
        self.0.networks.lock().is_synced(vni)
    }

    async fn write_status(
        &self,
        here: &NetworkAttachment,
        status: AttachmentStatus,
    ) -> Result<Written<NetworkAttachment>, WriteError> {
        let (since, has_errors) = (Instant::now(), !status.errors.host.is_empty());
        let updated = NetworkAttachment { status, ..here.clone() };
        let written = AGENT_FIELDS.apply(&*self.0.writer, here, &updated, &Preconditions::default()).await;
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
        let others = here.metadata.finalizers.iter().flatten().map(String::as_str);
        let others = others.filter(|finalizer| *finalizer != FINALIZER);
        let finalizers: Vec<&str> = others.chain(present.then_some(FINALIZER)).collect();
        let body = json!({"metadata": {"finalizers": finalizers}}).to_string();
        let patch = Patch { format: PatchFormat::Merge, body: body.into_bytes().into(), status: false };
        // The list is replaced: none of another writer is lost.
        let only_if = Preconditions { version: here.version(), ..Preconditions::default() };
        self.0.writer.patch(&here.key(), &patch, &only_if).await
    }
}

impl Reconcile<ObjectKey> for Agent {
    type Error = machinery::Error;

    async fn reconcile(&self, key: &ObjectKey, run: &Run) -> machinery::Result<Next> {
        let inner = &*self.0;
        let mut here = inner.here.get(key).map(std::sync::Arc::unwrap_or_clone);
        // A network that cannot be watched delays no local interface.
        let watched = self.update_interest(key, here.as_ref());
        let mut failed = None::<InterfaceError>;
        for _ in 0..MAX_STEPS {
            let (report, mut wrong) =
                here.as_ref().map(|here| inner.programs.report_of(key, here)).unwrap_or_default();
            wrong.extend(failed.as_ref().map(ToString::to_string));
            let have = inner.have.lock().get(key).cloned();
            let broken = have.as_ref().and_then(|have| self.error_of(have));
            wrong.extend(broken.filter(|_| failed.is_none()));
            wrong.extend(here.as_ref().and_then(|here| self.network_error(here, &watched)));
            let step = next_step(&AgentView {
                host: inner.settings.host,
                here: here.as_ref(),
                location: self.peer_location(key),
                actual: have.as_ref(),
                report: report.as_ref(),
                errors: &wrong,
                now: Timestamp::now(),
                failed: failed.is_some(),
            });
            let written = match (step, &here) {
                (AgentStep::Done, _) => {
                    if let Some(error) = failed {
                        return Err(error.into());
                    }
                    watched?;
                    let is_pending = here.as_ref().and_then(network_of).is_some_and(|vni| !self.knows(vni));
                    return Ok(if is_pending { Next::After(PENDING) } else { Next::Done });
                }
                (AgentStep::Create(interface), _) => {
                    // Until the result is recorded: no run for this address sees half of it.
                    let _turn = inner.actuator.turn(&interface.key()).await;
                    if let Err(error) = self.adopt_or_create(key, here.as_ref(), interface).await {
                        failed = Some(error);
                    }
                    continue;
                }
                (AgentStep::Delete(interface), _) => {
                    let _turn = inner.actuator.turn(&interface.key()).await;
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

impl Inner {
    pub(super) fn writer_kind(&self) -> Kind {
        Kind::of::<NetworkAttachment>().unwrap_or_else(|_| machinery::controllers::EventObject::kind())
    }
}
