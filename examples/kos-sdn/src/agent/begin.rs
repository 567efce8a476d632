//! How an agent begins.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures::future::join3;
use machinery::Plane;
use machinery::controllers::{Controller, Recorder};
use machinery::informers::{Informer, KeyedInformers};
use machinery::objects::{FieldTerm, Filter, InterestBy, ObjectKey, ObjectRef, Writer};
use machinery::sync::Mutex;
use machinery::tokio::sync::mpsc;
use machinery::tokio_util::sync::CancellationToken;

use super::beside::Beside;
use super::networks::Networks;
use super::programs::ProgramSettings;
use super::turns::Turns;
use crate::drive::Fabric;
use crate::metrics::{AgentMetrics, AgentNode};
use crate::model::{NetworkAttachment, Peer};
use crate::plan::Interface;

/// Which node an agent is of, and how it is reached.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AgentSettings {
    /// The name of the node, as attachments say it.
    pub node: String,
    /// Its address, in the network below.
    pub host: Ipv4Addr,
    /// So often the flows are held against those that should be there.
    pub audit: Duration,
    /// Listens by a stream for each network, as it has to with any Kubernetes, where the server could do with one in all.
    pub per_key: bool,
    /// The programs that it runs for attachments: none, if not said.
    pub programs: ProgramSettings,
    /// Where it counts and times what it does.
    pub metrics: AgentMetrics,
}

impl AgentSettings {
    /// Those of a node, with the rest as it is for most.
    #[must_use]
    pub fn new(node: &str, host: Ipv4Addr) -> Self {
        Self {
            node: node.into(),
            host,
            audit: Duration::from_secs(10),
            per_key: false,
            programs: ProgramSettings::default(),
            metrics: AgentMetrics::default(),
        }
    }
}

/// The agent of a node. Cheap to clone.
#[derive(Clone)]
pub struct Agent(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) settings: AgentSettings,
    pub(super) fabric: Arc<dyn Fabric>,
    pub(super) here: Informer<NetworkAttachment>,
    pub(super) peers: KeyedInformers<u32, Peer>,
    pub(super) writer: Arc<dyn Writer<NetworkAttachment>>,
    pub(super) recorder: Recorder,
    pub(super) networks: Mutex<Networks>,
    pub(super) have: Mutex<BTreeMap<ObjectKey, Interface>>,
    pub(super) turns: Turns,
    pub(super) beside: Beside,
    pub(super) metrics: AgentNode,
    pub(super) repaired: AtomicU64,
    pub(super) is_ready: AtomicBool,
}

impl Agent {
    /// Runs an agent for as long as the plane runs.
    ///
    /// # Errors
    /// The plane has stopped, or has another agent of this node.
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
            FieldTerm::differs("status.hostIP", "")?,
        ];
        let by = InterestBy::Field("status.addressVNI".into());
        let peers = plane
            .keyed_parts::<NetworkAttachment, _, _>(by, |peer: &Peer| Some(peer.status.address_vni))?
            .filter(selects(elsewhere));
        let peers = if settings.per_key { peers.per_key() } else { peers }.build();
        plane.run_keyed(&format!("peers of {node}"), &peers)?;
        let metrics = settings.metrics.of(node, fabric.name());
        let stopping = plane.stopping().clone();
        let (beside, reported) = Beside::new(settings.programs.clone(), metrics.clone(), stopping);
        let agent = Self(Arc::new(Inner {
            networks: Mutex::new(Networks::new(peers.clone())),
            settings,
            fabric,
            here,
            peers,
            writer: plane.writer::<NetworkAttachment>()?,
            recorder: recorder.clone(),
            have: Mutex::default(),
            turns: Turns::default(),
            beside,
            metrics,
            repaired: AtomicU64::new(0),
            is_ready: AtomicBool::new(false),
        }));
        let (runs, controller) = (agent.clone(), agent.controller(plane)?);
        let stopping = plane.stopping().clone();
        plane.spawn(async move {
            let ran = runs.runs(controller, reported, stopping).await;
            runs.0.beside.ended().await;
            ran
        });
        Ok(agent)
    }

    async fn runs(
        &self,
        controller: Controller<ObjectKey, ObjectKey>,
        mut reported: mpsc::Receiver<ObjectKey>,
        stopping: CancellationToken,
    ) -> machinery::Result<()> {
        if stopping.run_until_cancelled(self.look()).await.is_none() {
            return Ok(());
        }
        self.0.is_ready.store(true, Ordering::Relaxed);
        let besides = stopping.child_token();
        let reports = async {
            while let Some(key) = reported.recv().await {
                controller.request(key, &"its program ended").await;
            }
        };
        let (ended, _, _) = join3(
            async {
                let ended = controller.run(self.clone(), stopping).await;
                besides.cancel();
                ended
            },
            besides.run_until_cancelled(self.audit()),
            besides.run_until_cancelled(reports),
        )
        .await;
        Ok(ended.map(drop)?)
    }

    /// How many networks matter to the node.
    #[must_use]
    pub fn networks(&self) -> usize {
        self.0.networks.lock().len()
    }

    /// What the node has, by attachment.
    #[must_use]
    pub fn interfaces(&self) -> BTreeMap<ObjectKey, Interface> {
        self.0.have.lock().clone()
    }

    /// Whether it knows what is on the node, and whose: from then on it makes interfaces.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.0.is_ready.load(Ordering::Relaxed)
    }

    /// How many flows were not as they should be, and were put right.
    #[must_use]
    pub fn repaired(&self) -> u64 {
        self.0.repaired.load(Ordering::Relaxed)
    }

    pub(super) fn about(&self, attachment: &NetworkAttachment) -> ObjectRef {
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
