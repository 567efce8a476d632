//! Settings and start of a node agent.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::{join, join3};
use machinery::Plane;
use machinery::controllers::{Controller, Recorder, Settings};
use machinery::informers::{Informer, KeyedInformers};
use machinery::objects::{FieldTerm, Filter, InterestBy, ObjectKey, ObjectRef, Writer};
use machinery::sync::Mutex;
use machinery::tokio::sync::{mpsc, watch};
use machinery::tokio_util::sync::CancellationToken;

use super::attachment_programs::AttachmentPrograms;
use super::networks::NetworkInterests;
use super::programs::ProgramSettings;
use super::writers::AgentWriters;
use crate::drive::{Fabric, FabricActuator, FabricPort};
use crate::metrics::{AgentMetrics, AgentNode};
use crate::model::{NetworkAttachment, Peer};
use crate::plan::Interface;

/// Number of concurrent runs of an agent whose fabric is Open vSwitch.
pub const SWITCH_WORKERS: usize = 256;

/// The settings of a node agent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AgentSettings {
    /// Name of the node, as in attachments.
    pub node: String,
    /// Underlay address of the node.
    pub host: Ipv4Addr,
    /// Interval of reconciliations of the fabric, besides those after a disturbance.
    pub reconcile_interval: Duration,
    /// Uses one watch per network, as on any Kubernetes, even if the server supports one watch with
    /// an interest.
    pub per_key: bool,
    /// Time after which the missing peers of a network are reported by its attachments.
    pub peers_timeout: Duration,
    /// Number of concurrent runs. Calls of concurrent runs share the transactions of a switch, so
    /// [`SWITCH_WORKERS`] suit Open vSwitch.
    pub workers: usize,
    /// Programs that the agent may run for attachments; none by default.
    pub programs: ProgramSettings,
    /// Metrics of the agent.
    pub metrics: AgentMetrics,
    /// Writers with an identity of their own; `None` writes as the plane does.
    pub writers: Option<AgentWriters>,
}

impl AgentSettings {
    /// Returns the default settings for a node.
    #[must_use]
    pub fn new(node: &str, host: Ipv4Addr) -> Self {
        Self {
            node: node.into(),
            host,
            reconcile_interval: Duration::from_secs(10),
            per_key: false,
            peers_timeout: Duration::from_secs(10),
            workers: Settings::default().workers,
            programs: ProgramSettings::default(),
            metrics: AgentMetrics::default(),
            writers: None,
        }
    }
}

/// The agent of a node. Cheap to clone.
#[derive(Clone)]
pub struct Agent(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) settings: AgentSettings,
    pub(super) fabric: Arc<dyn Fabric>,
    pub(super) actuator: FabricActuator,
    pub(super) here: Informer<NetworkAttachment>,
    pub(super) peers: KeyedInformers<u32, Peer>,
    pub(super) writer: Arc<dyn Writer<NetworkAttachment>>,
    pub(super) recorder: Recorder,
    pub(super) networks: Mutex<NetworkInterests>,
    pub(super) have: Mutex<BTreeMap<ObjectKey, Interface>>,
    /// The error of the latest list or reconciliation of the fabric.
    pub(super) trouble: watch::Sender<Option<String>>,
    pub(super) programs: AttachmentPrograms,
    pub(super) metrics: AgentNode,
    pub(super) is_ready: AtomicBool,
}

impl Agent {
    /// Runs an agent until the plane stops.
    ///
    /// # Errors
    /// The plane has stopped or has an agent of this node already.
    pub fn run(
        plane: &Plane,
        settings: AgentSettings,
        fabric: Arc<dyn Fabric>,
        recorder: &Recorder,
    ) -> machinery::Result<Self> {
        let node = &settings.node;
        let mut here = plane.informer::<NetworkAttachment>()?;
        here.filter(selects([FieldTerm::equals("spec.node", node)?]));
        let here = here.build();
        plane.run_informer(&format!("attachments on {node}"), &here)?;
        let elsewhere = [
            FieldTerm::differs("spec.node", node)?,
            FieldTerm::differs("status.ipv4", "")?,
            // Before its node has reported, a peer has no end of a tunnel.
            FieldTerm::differs("status.hostIP", "")?,
        ];
        // Keyed by network: a node caches the peers of its own networks only.
        let by = InterestBy::Field("status.addressVNI".into());
        let peers = plane
            .keyed_partial_informers::<NetworkAttachment, _, _>(by, |peer: &Peer| {
                Some(peer.status.address_vni)
            })?
            .filter(selects(elsewhere));
        let peers = if settings.per_key { peers.per_key() } else { peers }.build();
        plane.run_keyed(&format!("peers of {node}"), &peers)?;
        let metrics = settings.metrics.of(node, fabric.name());
        let stopping = plane.stopping().clone();
        let (programs, reported) =
            AttachmentPrograms::new(settings.programs.clone(), metrics.clone(), stopping);
        let writer = match &settings.writers {
            Some(writers) => writers.attachments.clone(),
            None => plane.writer::<NetworkAttachment>()?,
        };
        let agent = Self(Arc::new(Inner {
            networks: Mutex::new(NetworkInterests::new(peers.clone())),
            actuator: FabricPort::actuator(fabric.clone(), settings.reconcile_interval),
            settings,
            fabric,
            here,
            peers,
            writer,
            recorder: recorder.clone(),
            have: Mutex::default(),
            trouble: watch::Sender::default(),
            programs,
            metrics,
            is_ready: AtomicBool::new(false),
        }));
        let (runs, controller) = (agent.clone(), agent.controller(plane)?);
        let stopping = plane.stopping().clone();
        let side_tasks = stopping.child_token();
        let (actuator, actuating) = (agent.0.actuator.clone(), side_tasks.clone());
        plane.spawn(async move { Ok(actuator.run(actuating).await?) });
        plane.spawn(async move {
            let ran = runs.runs(controller, reported, (stopping, side_tasks)).await;
            runs.0.programs.drained().await;
            ran
        });
        Ok(agent)
    }

    async fn runs(
        &self,
        controller: Controller<ObjectKey, ObjectKey>,
        mut reported: mpsc::Receiver<ObjectKey>,
        (stopping, side_tasks): (CancellationToken, CancellationToken),
    ) -> machinery::Result<()> {
        let reports = async {
            while let Some(key) = reported.recv().await {
                controller.request(key, &"its program ended").await;
            }
        };
        let runs = async {
            // Before the first run, which reads the existing interfaces.
            if stopping.run_until_cancelled(self.existing_listed()).await.is_none() {
                side_tasks.cancel();
                return Ok(());
            }
            let ended = async {
                let ended = controller.run(self.clone(), stopping.clone()).await;
                side_tasks.cancel();
                ended
            };
            let orphans = side_tasks.run_until_cancelled(self.delete_orphans());
            join(ended, orphans).await.0.map(drop)
        };
        let (ended, _, _) = join3(
            runs,
            side_tasks.run_until_cancelled(self.report_status(&controller)),
            side_tasks.run_until_cancelled(reports),
        )
        .await;
        Ok(ended?)
    }

    /// Returns the number of networks that the node watches.
    #[must_use]
    pub fn networks(&self) -> usize {
        self.0.networks.lock().len()
    }

    /// Returns the interfaces of the node, by attachment.
    #[must_use]
    pub fn interfaces(&self) -> BTreeMap<ObjectKey, Interface> {
        self.0.have.lock().clone()
    }

    /// Returns true once the interfaces that existed at start are adopted, except those without
    /// owner. The other interfaces are created meanwhile.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.0.is_ready.load(Ordering::Relaxed)
    }

    /// Returns the error of the switch as a whole, and its changes; `None` while it works.
    #[must_use]
    pub fn trouble(&self) -> watch::Receiver<Option<String>> {
        self.0.trouble.subscribe()
    }

    /// Records an error of the switch as a whole.
    pub(super) fn set_trouble(&self, error: Option<String>) {
        self.0.trouble.send_if_modified(|trouble| {
            let is_new = *trouble != error;
            *trouble = error;
            is_new
        });
    }

    /// Returns the number of interfaces that existed at start and are neither adopted nor deleted.
    #[must_use]
    pub fn unclaimed(&self) -> usize {
        let status = self.0.actuator.status();
        status.unclaimed + status.orphans
    }

    /// Returns the number of repairs by reconciliations of the fabric.
    #[must_use]
    pub fn repaired(&self) -> u64 {
        self.0.actuator.status().repairs.values().sum()
    }

    pub(super) fn object_ref(&self, attachment: &NetworkAttachment) -> ObjectRef {
        ObjectRef {
            kind: self.0.writer_kind(),
            key: machinery::objects::Object::key(attachment),
            uid: attachment.metadata.uid.as_deref().and_then(machinery::objects::Uid::new),
        }
    }
}

fn selects(terms: impl IntoIterator<Item = FieldTerm>) -> Filter {
    Filter { fields: terms.into_iter().collect(), ..Filter::default() }
}
