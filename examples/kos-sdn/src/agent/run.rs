//! What an agent does for one attachment, step by step.

use machinery::controllers::{Controller, Note, Settings};
use machinery::informers::Lookup;
use machinery::objects::{Event, Kind, ObjectKey, Preconditions, WriteError, Written};
use machinery::tokio::time::Instant;
use machinery::{Next, Plane, Reconcile, Run};

use super::begin::{Agent, Inner};
use crate::drive::FabricError;
use crate::model::{AttachmentStatus, NetworkAttachment, Peer};
use crate::plan::{AgentStep, Elsewhere, FINALIZER, Interface, Sight, next};

/// More steps than there ever are in one run: whoever takes them is wrong, and says so.
const STEPS: usize = 16;
/// Of so many attachments an agent knows what it did last. There may be thousands of others', and it is one of thousands.
const REMEMBERED: usize = 256;

impl Agent {
    pub(super) fn controller(&self, plane: &Plane) -> machinery::Result<Controller<ObjectKey, ObjectKey>> {
        let Inner { here, peers, settings, .. } = &*self.0;
        let name = format!("agent-{}", settings.node);
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

    pub(super) async fn unmake(&self, interface: &Interface) -> Result<(), FabricError> {
        let (fabric, since) = (&self.0.fabric, Instant::now());
        let (op, done) = match interface {
            Interface::Local(local) => ("DeleteLocalIfc", fabric.delete_local(local).await),
            Interface::Remote(remote) => ("DeleteRemoteIfc", fabric.delete_remote(remote).await),
        };
        self.0.metrics.called(since, op, &done);
        done
    }

    async fn make(&self, interface: &Interface) -> Result<(), FabricError> {
        let (fabric, since) = (&self.0.fabric, Instant::now());
        let (op, done) = match interface {
            Interface::Local(local) => ("CreateLocalIfc", fabric.create_local(local).await),
            Interface::Remote(remote) => ("CreateRemoteIfc", fabric.create_remote(remote).await),
        };
        self.0.metrics.called(since, op, &done);
        done
    }

    fn elsewhere(&self, key: &ObjectKey) -> Elsewhere {
        match self.0.peers.lookup(key) {
            Lookup::Unique(_, peer) => peer
                .place()
                .map_or(Elsewhere::Nothing, |(vni, address, host)| Elsewhere::There(vni, address, host)),
            Lookup::Ambiguous(_) => Elsewhere::Unclear,
            Lookup::Absent => Elsewhere::Nothing,
        }
    }

    async fn say(
        &self,
        here: &NetworkAttachment,
        status: AttachmentStatus,
    ) -> Result<Written<NetworkAttachment>, WriteError> {
        let (since, has_errors) = (Instant::now(), !status.errors.host.is_empty());
        let says = NetworkAttachment { status, ..here.clone() };
        let written = self.0.writer.update_status(&says, &Preconditions::default()).await;
        self.0.metrics.said(since, here, written.as_ref().map(|written| &written.object), has_errors);
        written
    }

    async fn hold(
        &self,
        here: &NetworkAttachment,
        is_held: bool,
    ) -> Result<Written<NetworkAttachment>, WriteError> {
        let mut here = here.clone();
        let finalizers = here.metadata.finalizers.get_or_insert_default();
        finalizers.retain(|finalizer| finalizer != FINALIZER);
        if is_held {
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
        self.matters(key, here.as_ref())?;
        let mut failed = None::<FabricError>;
        for _ in 0..STEPS {
            let (report, mut wrong) =
                here.as_ref().map(|here| inner.beside.says(key, here)).unwrap_or_default();
            wrong.extend(failed.as_ref().map(ToString::to_string));
            let have = inner.have.lock().get(key).cloned();
            let step = next(&Sight {
                host: inner.settings.host,
                here: here.as_ref(),
                elsewhere: self.elsewhere(key),
                have: have.as_ref(),
                report: report.as_ref(),
                wrong: &wrong,
                failed: failed.is_some(),
            });
            let written = match (step, &here) {
                (AgentStep::Rest, _) => return failed.map_or(Ok(Next::Done), |error| Err(error.into())),
                (AgentStep::Make(interface), _) => {
                    let _turn = inner.turns.of(&interface).await;
                    match self.make(&interface).await {
                        Ok(()) => self.made(key, here.as_ref(), interface),
                        Err(FabricError::Taken { .. }) if self.displaced(&interface).await? => {}
                        Err(error) => failed = Some(error),
                    }
                    continue;
                }
                (AgentStep::Unmake(interface), _) => {
                    let _turn = inner.turns.of(&interface).await;
                    if inner.have.lock().get(key) != Some(&interface) {
                        continue; // it made way meanwhile
                    }
                    match self.unmake(&interface).await {
                        Ok(()) => self.unmade(key, &interface),
                        Err(error) => failed = Some(error),
                    }
                    continue;
                }
                (AgentStep::Hold, Some(here)) => self.hold(here, true).await,
                (AgentStep::LetGo, Some(here)) => self.hold(here, false).await,
                (AgentStep::Say(status), Some(here)) => self.say(here, *status).await,
                (AgentStep::Hold | AgentStep::LetGo | AgentStep::Say(_), None) => return Ok(Next::Done),
            };
            match written {
                Ok(written) => {
                    run.wrote(&written.token, &inner.here);
                    here = Some(written.object);
                }
                // It went meanwhile; that it has will be told.
                Err(WriteError::NotFound) => return Ok(Next::Done),
                Err(error) => return Err(error.into()),
            }
        }
        Err("its steps have no end: that is a mistake in the agent".into())
    }
}

impl Agent {
    /// An attachment of this node has the address, by its lock: who had it elsewhere has gone, and that is yet to be told. Its way is taken away; whether
    /// there was one.
    async fn displaced(&self, by: &Interface) -> Result<bool, FabricError> {
        let Interface::Local(local) = by else { return Ok(false) };
        let is_it = |(_, have): &(&ObjectKey, &Interface)| matches!(have, Interface::Remote(remote) if (remote.vni, remote.address) == (local.vni, local.address));
        let former = self.0.have.lock().iter().find(is_it).map(|(key, have)| (key.clone(), have.clone()));
        let Some((key, former)) = former else { return Ok(false) };
        self.unmake(&former).await?;
        let mut have = self.0.have.lock();
        if have.get(&key) == Some(&former) {
            have.remove(&key);
            self.0.metrics.has(&former, false);
        }
        Ok(true)
    }

    fn made(&self, key: &ObjectKey, here: Option<&NetworkAttachment>, interface: Interface) {
        let Inner { metrics, have, .. } = &*self.0;
        match (here, &interface) {
            (Some(here), Interface::Local(local)) => {
                let text = format!(
                    "Created Linux network interface named {} with MAC address {} and IPv4 address {}",
                    local.name, local.mac, local.address
                );
                self.0.recorder.note(Note::normal(self.about(here), "Implemented", text));
                metrics.made(here);
                self.0.beside.made(key, local, here);
            }
            (_, Interface::Remote(remote)) => {
                if let Lookup::Unique(_, peer) = self.0.peers.lookup(key) {
                    metrics.knows(&peer, self.0.networks.lock().since(remote.vni));
                }
            }
            (None, Interface::Local(_)) => {}
        }
        metrics.has(&interface, true);
        have.lock().insert(key.clone(), interface);
    }

    fn unmade(&self, key: &ObjectKey, interface: &Interface) {
        self.0.metrics.has(interface, false);
        self.0.have.lock().remove(key);
        self.0.beside.gone(key);
    }
}

impl Inner {
    pub(super) fn writer_kind(&self) -> Kind {
        Kind::of::<NetworkAttachment>().unwrap_or_else(|_| machinery::controllers::EventObject::kind())
    }
}
