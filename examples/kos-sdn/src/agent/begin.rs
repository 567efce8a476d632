//! How an agent begins: it looks at what is there first.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use machinery::Plane;
use machinery::controllers::Recorder;
use machinery::informers::{Informer, KeyedInformers, NotAcquired};
use machinery::objects::{FieldTerm, Filter, InterestBy, ObjectKey, ObjectRef, Writer};
use machinery::sync::Mutex;
use machinery::tokio::time::sleep;

use super::networks::Networks;
use crate::drive::{Fabric, Listed};
use crate::model::{NetworkAttachment, Peer, Vni};
use crate::plan::{Interface, network_of};

/// Which node an agent is of, and how it is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSettings {
    /// The name of the node, as attachments say it.
    pub node: String,
    /// Its address, in the network below.
    pub host: Ipv4Addr,
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
}

/// So long between two tries to reach the switch, and two looks whether all is known.
const AGAIN: Duration = Duration::from_millis(100);

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
            .keyed_informers(by, |peer: &Peer| Some(peer.status.address_vni))?
            .filter(selects(elsewhere))
            .build();
        plane.run_keyed(&format!("peers of {node}"), &peers)?;
        let agent = Self(Arc::new(Inner {
            networks: Mutex::new(Networks::new(peers.clone())),
            settings,
            fabric,
            here,
            peers,
            writer: plane.writer::<NetworkAttachment>()?,
            recorder: recorder.clone(),
            have: Mutex::default(),
        }));
        let (runs, weak) = (agent.clone(), agent.controller(plane)?);
        let stopping = plane.stopping().clone();
        plane.spawn(async move {
            if stopping.run_until_cancelled(runs.look()).await.is_none() {
                return Ok(());
            }
            Ok(weak.run(runs, stopping).await.map(drop)?)
        });
        Ok(agent)
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

    pub(super) fn about(&self, attachment: &NetworkAttachment) -> ObjectRef {
        ObjectRef {
            kind: self.0.writer_kind(),
            key: machinery::objects::Object::key(attachment),
            uid: attachment.metadata.uid.as_deref().and_then(machinery::objects::Uid::new),
        }
    }

    /// Finds out whose the interfaces are that are there already, and takes away those that are nobody's. An owner is known when all that matters is: so
    /// an interface that is wanted is never taken away and made again.
    async fn look(&self) {
        let Inner { here, .. } = &*self.0;
        while !here.is_synced() {
            sleep(AGAIN).await;
        }
        for (key, attachment) in here.read().iter() {
            while let Err(error) = self.matters(key, network_of(attachment)) {
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

    pub(super) fn matters(&self, who: &ObjectKey, vni: Option<Vni>) -> Result<(), NotAcquired> {
        self.0.networks.lock().is_in(who, vni)
    }

    fn knows_all(&self) -> bool {
        self.0.networks.lock().are_complete()
    }

    async fn adopt(&self, listed: Listed) {
        let mut owners = BTreeMap::new();
        for (key, attachment) in self.0.here.read().iter() {
            if let Some(wanted) = crate::plan::wanted_here(attachment) {
                owners.insert(id(&wanted), key.clone());
            }
        }
        for (_, key, peer) in self.0.peers.read().iter() {
            if let Some((vni, address, host)) = peer.place() {
                owners.insert(
                    id(&Interface::Remote(crate::plan::Remote::new(vni, address, host))),
                    key.clone(),
                );
            }
        }
        let locals = listed.locals.into_iter().map(Interface::Local);
        for found in locals.chain(listed.remotes.into_iter().map(Interface::Remote)) {
            if let Some(owner) = owners.remove(&id(&found)) {
                self.0.have.lock().insert(owner, found);
                continue;
            }
            while let Err(error) = self.unmake(&found).await {
                tracing::warn!(%error, ?found, "an interface of nobody cannot be taken away; it is tried again");
                sleep(AGAIN).await;
            }
        }
    }
}

/// Which interface it is, wherever what it is for has gone since.
fn id(interface: &Interface) -> String {
    format!("{interface:?}")
}

fn selects(terms: impl IntoIterator<Item = FieldTerm>) -> Filter {
    Filter { fields: terms.into_iter().collect(), ..Filter::default() }
}
