//! Execution of probes by the node agent.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use machinery::informers::{Informer, Lookup};
use machinery::objects::{FieldTerm, Filter, Object, ObjectKey, Preconditions, WriteError, Writer};
use machinery::tokio::time::{Instant, sleep};
use machinery::{Next, Plane, Reconcile, Run};

use super::setup::{Agent, AgentSettings};
use crate::drive::FramePath;
use crate::model::{PROBE_FIELDS, Probe, ProbeQuestion, ProbeSpec, ProbeStatus};
use crate::plan::{AddressKey, Interface, desired_local};

/// Time after which an answered probe is deleted if its client did not.
const KEPT: Duration = Duration::from_secs(600);
/// Interval between the frames of a probe.
const PACE: Duration = Duration::from_millis(10);
/// Maximum number of frames of a probe.
const FRAMES: u16 = 100;

impl Agent {
    /// Executes the probes of the node until the plane stops.
    ///
    /// # Errors
    /// The plane has stopped or executes the probes of this node already.
    pub fn answer_probes(&self, plane: &Plane) -> machinery::Result {
        let AgentSettings { node, writers, .. } = &self.0.settings;
        let mut probes = plane.informer::<Probe>()?;
        let fields = [FieldTerm::equals("spec.node", node)?].into_iter().collect();
        probes.filter(Filter { fields, ..Filter::default() });
        let probes = probes.build();
        plane.run_informer(&format!("probes of {node}"), &probes)?;
        let controller = plane
            .controller_of_requests::<ObjectKey>(&format!("probes-{node}"))
            .watching_informer("probes", &probes, |event| [event.object().key()])
            .build()?;
        let writer = match writers {
            Some(writers) => writers.probes.clone(),
            None => plane.writer::<Probe>()?,
        };
        let answers = ProbeReconciler { probes, writer, agent: self.clone() };
        let stopping = plane.stopping().clone();
        plane.spawn(async move { Ok(controller.run(answers, stopping).await.map(drop)?) });
        Ok(())
    }

    /// Returns the path of a probe's frames. Their source is an attachment of the probe's
    /// namespace: the permission to create probes in a namespace gives access to its networks only.
    ///
    /// # Errors
    /// The source is not on the expected node, or an address is malformed; the text is for the
    /// creator of the probe.
    fn frame_path(&self, probe: &ObjectKey, spec: &ProbeSpec) -> Result<FramePath, String> {
        let ProbeSpec { ask, from, to, .. } = spec;
        let to = to.parse::<Ipv4Addr>().map_err(|_| format!("spec.to: {to:?} is no address"))?;
        let source = ObjectKey::new(probe.namespace(), from).map_err(|error| {
            format!("spec.from is the name of an attachment in the probe's namespace: {error}")
        })?;
        let node = &self.0.settings.node;
        let (vni, address, host) = if *ask == ProbeQuestion::Arriving {
            let Lookup::Unique(_, peer) = self.0.peers.lookup(&source) else {
                return Err(format!(
                    "{node} knows no attachment {source} on another node in its networks: table 0 drops its frames"
                ));
            };
            let place = peer.location().ok_or_else(|| format!("{source} has no address or no node yet"))?;
            (place.0, place.1, Some(place.2))
        } else {
            match self.0.here.get(&source).as_deref().and_then(desired_local) {
                Some(Interface::Local(local)) => (local.vni, local.address, None),
                _ => return Err(format!("there is no attachment {source} with an address on {node}")),
            }
        };
        Ok(FramePath { from: AddressKey { vni, address }, to, host })
    }
}

struct ProbeReconciler {
    probes: Informer<Probe>,
    writer: Arc<dyn Writer<Probe>>,
    agent: Agent,
}

impl Reconcile<ObjectKey> for ProbeReconciler {
    type Error = machinery::Error;

    async fn reconcile(&self, key: &ObjectKey, run: &Run) -> machinery::Result<Next> {
        let Some(probe) = self.probes.get(key) else { return Ok(Next::Done) };
        let answered = probe.status.as_ref().is_some_and(|status| status.finished);
        if answered && is_old(&probe) {
            return match self.writer.delete(key, &machinery::objects::Deletion::default()).await {
                Ok(_) | Err(WriteError::NotFound) => Ok(Next::Done),
                Err(error) => Err(error.into()),
            };
        }
        if answered {
            return Ok(Next::After(KEPT));
        }
        let status = match self.agent.frame_path(key, &probe.spec) {
            Ok(path) => self.execute(&probe.spec, path).await,
            Err(error) => ProbeStatus { error, ..ProbeStatus::default() },
        };
        let answer = Probe { status: Some(ProbeStatus { finished: true, ..status }), ..(*probe).clone() };
        match PROBE_FIELDS.apply(&*self.writer, &probe, &answer, &Preconditions::default()).await {
            Ok(written) => {
                run.wrote(&written.token, &self.probes);
                Ok(Next::After(KEPT))
            }
            Err(WriteError::NotFound) => Ok(Next::Done),
            Err(error) => Err(error.into()),
        }
    }
}

impl ProbeReconciler {
    async fn execute(&self, spec: &ProbeSpec, path: FramePath) -> ProbeStatus {
        let (mut status, fabric) = (ProbeStatus::default(), &self.agent.0.fabric);
        if spec.ask != ProbeQuestion::Ping {
            match fabric.explain(path).await {
                Ok(steps) => status.steps = steps,
                Err(error) => status.error = error.to_string(),
            }
            return status;
        }
        for sequence in 1..=spec.count.clamp(1, FRAMES) {
            if sequence > 1 {
                sleep(PACE).await;
            }
            let began = Instant::now();
            status.sent += 1;
            match fabric.ping(path.from, path.to, sequence).await {
                Ok(()) => {
                    status.round_trips.push(u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX));
                }
                Err(error) => status.error = error.to_string(),
            }
        }
        status
    }
}

fn is_old(probe: &Probe) -> bool {
    let made = probe.metadata.creation_timestamp.as_ref();
    made.is_some_and(|made| jiff::Timestamp::now().duration_since(made.0).unsigned_abs() >= KEPT)
}
