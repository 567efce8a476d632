//! Execution of probes by the node agent.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use machinery::informers::Informer;
use machinery::objects::{FieldTerm, Filter, Object, ObjectKey, Preconditions, WriteError, Writer};
use machinery::tokio::time::{Instant, sleep};
use machinery::{Next, Plane, Reconcile, Run};

use super::AgentSettings;
use crate::drive::{Fabric, FramePath};
use crate::model::{Probe, ProbeQuestion, ProbeSpec, ProbeStatus, Vni};
use crate::plan::AddressKey;

/// Time after which an answered probe is deleted if its client did not.
const KEPT: Duration = Duration::from_secs(600);
/// Interval between the frames of a probe.
const PACE: Duration = Duration::from_millis(10);
/// Maximum number of frames of a probe.
const FRAMES: u16 = 100;

/// Executes the probes of a node until the plane stops.
///
/// # Errors
/// The plane has stopped or executes the probes of this node already.
pub fn answer_probes(plane: &Plane, settings: &AgentSettings, fabric: Arc<dyn Fabric>) -> machinery::Result {
    let node = &settings.node;
    let mut probes = plane.informer::<Probe>()?;
    let fields = [FieldTerm::equals("spec.node", node)?].into_iter().collect();
    probes.filter(Filter { fields, ..Filter::default() });
    let probes = probes.build();
    plane.run_informer(&format!("probes of {node}"), &probes)?;
    let controller = plane
        .controller_of_requests::<ObjectKey>(&format!("probes-{node}"))
        .watching_informer("probes", &probes, |event| [event.object().key()])
        .build()?;
    let answers = ProbeReconciler { probes, writer: plane.writer::<Probe>()?, fabric };
    let stopping = plane.stopping().clone();
    plane.spawn(async move { Ok(controller.run(answers, stopping).await.map(drop)?) });
    Ok(())
}

struct ProbeReconciler {
    probes: Informer<Probe>,
    writer: Arc<dyn Writer<Probe>>,
    fabric: Arc<dyn Fabric>,
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
        let status = match path(&probe.spec) {
            Ok(path) => self.execute(&probe.spec, path).await,
            Err(error) => ProbeStatus { error: error.to_string(), ..ProbeStatus::default() },
        };
        let probe = Probe { status: Some(ProbeStatus { finished: true, ..status }), ..(*probe).clone() };
        match self.writer.update_status(&probe, &Preconditions::default()).await {
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
        let mut status = ProbeStatus::default();
        if spec.ask != ProbeQuestion::Ping {
            match self.fabric.explain(path).await {
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
            match self.fabric.ping(path.from, path.to, sequence).await {
                Ok(()) => {
                    status.round_trips.push(u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX));
                }
                Err(error) => status.error = error.to_string(),
            }
        }
        status
    }
}

fn path(spec: &ProbeSpec) -> machinery::Result<FramePath> {
    let address = |text: &str| text.parse::<Ipv4Addr>().map_err(|_| format!("{text:?} is no address"));
    let host = match spec.ask {
        ProbeQuestion::Arriving => Some(address(&spec.host)?),
        ProbeQuestion::Ping | ProbeQuestion::Leaving => None,
    };
    let from = AddressKey { vni: Vni::new(spec.vni)?, address: address(&spec.from)? };
    Ok(FramePath { from, to: address(&spec.to)?, host })
}

fn is_old(probe: &Probe) -> bool {
    let made = probe.metadata.creation_timestamp.as_ref();
    made.is_some_and(|made| jiff::Timestamp::now().duration_since(made.0).unsigned_abs() >= KEPT)
}
