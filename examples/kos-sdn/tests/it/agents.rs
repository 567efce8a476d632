//! Agents on a plane, over the simulated network: frames tell whether it works.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use kos::agent::{Agent, AgentSettings};
use kos::controllers::{self, ControllerSettings};
use kos::drive::sim::{PingError, SimLimits, Underlay};
use kos::drive::{Audit, Fabric, FabricError, Listed};
use kos::model::{
    AttachmentSpec, NetworkAttachment, Subnet, SubnetSpec, ip_locks, network_attachments, subnets,
};
use kos::plan::{AddressKey, FINALIZER, Local, Remote};
use machinery::controllers::Recorder;
use machinery::{Objects, Plane};

use crate::server::key;

/// More than anything takes on a machine that is busy.
const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) struct World {
    pub(crate) plane: Plane,
    pub(crate) underlay: Underlay,
    agents: Vec<Agent>,
    recorder: Recorder,
    pub(crate) attachments: Objects<NetworkAttachment>,
    subnets: Objects<Subnet>,
}

pub(crate) fn host(node: u8) -> Ipv4Addr {
    Ipv4Addr::new(192, 0, 2, node)
}

impl World {
    async fn new(nodes: u8) -> Self {
        let mut world = Self::without_agents().await;
        for node in 1..=nodes {
            let fabric = world.underlay.join(host(node)).unwrap();
            world.agent(node, fabric);
        }
        world
    }

    pub(crate) async fn without_agents() -> Self {
        let begin =
            machinery::embedded().kind_of(subnets()).kind_of(network_attachments()).kind_of(ip_locks());
        let plane = begin.start().await.unwrap();
        let recorder = plane.recorder("kos");
        controllers::run(&plane, ControllerSettings::default()).unwrap();
        let underlay = Underlay::new(SimLimits::default());
        let (attachments, subnets) = (plane.objects().unwrap(), plane.objects().unwrap());
        Self { plane, underlay, agents: Vec::new(), recorder, attachments, subnets }
    }

    fn agent(&mut self, node: u8, fabric: impl Fabric) {
        let mut settings = AgentSettings::new(&format!("node-{node}"), host(node));
        settings.audit = Duration::from_millis(100);
        self.agent_with(settings, fabric);
    }

    pub(crate) fn agent_with(&mut self, settings: AgentSettings, fabric: impl Fabric) {
        let agent = Agent::run(&self.plane, settings, Arc::new(fabric), &self.recorder).unwrap();
        self.agents.push(agent);
    }

    pub(crate) async fn subnet(&self, name: &str, vni: u32, ipv4: &str) {
        let mut subnet = Subnet { spec: SubnetSpec { vni, ipv4: ipv4.into() }, ..Subnet::default() };
        subnet.metadata.name = Some(name.into());
        subnet.metadata.namespace = Some("default".into());
        self.subnets.create(&subnet).await.unwrap();
    }

    async fn attach(&self, name: &str, node: &str, subnet: &str) {
        let spec = AttachmentSpec { node: node.into(), subnet: subnet.into(), ..AttachmentSpec::default() };
        let mut attachment = NetworkAttachment { spec, ..NetworkAttachment::default() };
        attachment.metadata.name = Some(name.into());
        attachment.metadata.namespace = Some("default".into());
        self.attachments.create(&attachment).await.unwrap();
    }

    pub(crate) fn get(&self, name: &str) -> Option<Arc<NetworkAttachment>> {
        self.attachments.get(&key("default", name))
    }

    /// Until the attachment is as said.
    pub(crate) async fn until(&self, name: &str, is_so: impl Fn(Option<&NetworkAttachment>) -> bool) {
        let so = async {
            while !is_so(self.get(name).as_deref()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(DEADLINE, so).await.is_err() {
            panic!("{name} never was so: {:#?}", self.get(name));
        }
    }

    pub(crate) async fn until_ready(&self, name: &str) {
        self.until(name, |it| it.is_some_and(|it| !it.status.ifc_name.is_empty())).await;
    }

    fn ping(&self, from: &str, to: &str) -> Result<(), PingError> {
        let (from, to) = (self.get(from).unwrap(), self.get(to).unwrap());
        let vni = kos::model::Vni::new(from.status.address_vni).unwrap();
        let who = AddressKey { vni, address: from.status.ipv4.parse().unwrap() };
        let node = from.status.host_ip.parse().unwrap();
        self.underlay.ping(node, who, to.status.ipv4.parse().unwrap(), 1)
    }

    /// Until something is so of which nobody tells.
    pub(crate) async fn until_so(&self, is_so: impl Fn() -> bool) {
        let so = async {
            while !is_so() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(DEADLINE, so).await.unwrap();
    }

    async fn until_pings(&self, from: &str, to: &str) {
        self.until_so(|| self.ping(from, to).is_ok()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attachments_of_a_network_reach_each_other() {
    let world = World::new(3).await;
    world.subnet("a", 17, "10.1.0.0/24").await;
    world.subnet("b", 18, "10.1.0.0/24").await;
    for (name, node, subnet) in [
        ("a1", "node-1", "a"),
        ("a2", "node-2", "a"),
        ("a3", "node-2", "a"),
        ("b1", "node-1", "b"),
        ("b2", "node-3", "b"),
    ] {
        world.attach(name, node, subnet).await;
    }
    for name in ["a1", "a2", "a3", "b1", "b2"] {
        world.until_ready(name).await;
    }
    for (from, to) in [("a1", "a2"), ("a2", "a1"), ("a2", "a3"), ("b1", "b2"), ("b2", "b1"), ("a3", "a1")] {
        world.until_pings(from, to).await;
    }
    // Node 3 has nothing of network 17, and hears nothing of it.
    assert_eq!(world.agents[2].networks(), 1);
    assert_eq!(world.agents[2].interfaces().len(), 2);
    assert!(world.ping("b2", "a3").is_err());

    world.attachments.delete(&key("default", "a2")).await.unwrap();
    world.until("a2", |it| it.is_none()).await;
    world.until_so(|| !world.agents[0].interfaces().contains_key(&key("default", "a2"))).await;
    world.until_pings("a3", "a1").await;
    world.plane.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_is_free_when_its_node_has_no_interface_of_it() {
    let world = World::new(1).await;
    world.subnet("s", 17, "10.1.0.0/32").await;
    world.attach("first", "node-1", "s").await;
    world.until_ready("first").await;
    assert!(world.get("first").unwrap().metadata.finalizers.iter().flatten().any(|one| one == FINALIZER));
    world.attach("second", "node-1", "s").await;
    world.until("second", |it| it.is_some_and(|it| it.status.address_contention)).await;
    world.attachments.delete(&key("default", "first")).await.unwrap();
    world.until_ready("second").await;
    world.plane.stop().await;
}

/// A fabric that does what another does, if it may, and counts.
pub(crate) struct Watched<F> {
    pub(crate) of: F,
    pub(crate) calls: Arc<Calls>,
}

#[derive(Default)]
pub(crate) struct Calls {
    refuses: AtomicBool,
    pub(crate) made: AtomicUsize,
    deleted: AtomicUsize,
}

impl<F: Fabric> Watched<F> {
    fn called(&self, count: &AtomicUsize) -> Result<(), FabricError> {
        count.fetch_add(1, Ordering::SeqCst);
        match self.calls.refuses.load(Ordering::SeqCst) {
            true => Err(FabricError::Unavailable { reason: "it is asleep".into() }),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl<F: Fabric> Fabric for Watched<F> {
    fn name(&self) -> &'static str {
        "watched"
    }

    async fn create_local(&self, interface: &Local) -> Result<(), FabricError> {
        self.called(&self.calls.made)?;
        self.of.create_local(interface).await
    }

    async fn delete_local(&self, interface: &Local) -> Result<(), FabricError> {
        self.called(&self.calls.deleted)?;
        self.of.delete_local(interface).await
    }

    async fn create_remote(&self, interface: &Remote) -> Result<(), FabricError> {
        self.called(&self.calls.made)?;
        self.of.create_remote(interface).await
    }

    async fn delete_remote(&self, interface: &Remote) -> Result<(), FabricError> {
        self.called(&self.calls.deleted)?;
        self.of.delete_remote(interface).await
    }

    async fn list(&self) -> Result<Listed, FabricError> {
        self.of.list().await
    }

    async fn audit(&self) -> Result<Audit, FabricError> {
        self.of.audit().await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_there_when_an_agent_begins_is_kept_and_what_is_nobodys_goes() {
    let mut world = World::without_agents().await;
    let first = world.underlay.join(host(1)).unwrap();
    world.agent(1, first);
    world.subnet("s", 17, "10.1.0.0/24").await;
    world.attach("a", "node-1", "s").await;
    world.attach("b", "node-2", "s").await;
    world.until_ready("a").await;
    world.until("b", |it| it.is_some_and(|it| !it.status.ipv4.is_empty())).await;
    let vni = kos::model::Vni::new(17).unwrap();
    let address = |name| world.get(name).unwrap().status.ipv4.parse::<Ipv4Addr>().unwrap();
    // As an agent left it that died, and some of an earlier life.
    let second = world.underlay.join(host(2)).unwrap();
    second.create_local(&Local::new(vni, address("b"))).await.unwrap();
    second.create_remote(&Remote::new(vni, address("a"), host(1))).await.unwrap();
    let other = kos::model::Vni::new(99).unwrap();
    second.create_local(&Local::new(other, [10, 9, 0, 2].into())).await.unwrap();
    second.create_remote(&Remote::new(other, [10, 9, 0, 3].into(), host(1))).await.unwrap();
    let wrong_host = Remote::new(vni, [10, 1, 0, 255].into(), host(9));
    second.create_remote(&wrong_host).await.unwrap();
    let calls = Arc::new(Calls::default());
    world.agent(2, Watched { of: second.clone(), calls: calls.clone() });
    world.until_ready("b").await;
    world.until_pings("a", "b").await;
    world.until_pings("b", "a").await;
    assert_eq!(calls.made.load(Ordering::SeqCst), 0, "what was there was made again");
    assert_eq!(calls.deleted.load(Ordering::SeqCst), 3);
    let listed = second.list().await.unwrap();
    assert_eq!((listed.locals.len(), listed.remotes.len()), (1, 1));
    world.plane.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_switch_that_lost_its_flows_has_them_again() {
    let world = World::new(2).await;
    world.subnet("s", 17, "10.1.0.0/24").await;
    world.attach("a", "node-1", "s").await;
    world.attach("b", "node-2", "s").await;
    world.until_ready("a").await;
    world.until_ready("b").await;
    world.until_pings("a", "b").await;
    world.underlay.restart_switch(host(2)).unwrap();
    world.until_so(|| world.agents[1].repaired() > 0).await;
    world.until_pings("a", "b").await;
    assert_eq!(world.agents[0].repaired(), 0);
    world.plane.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_cannot_make_an_interface_says_so_and_tries_again() {
    let mut world = World::without_agents().await;
    let calls = Arc::new(Calls::default());
    calls.refuses.store(true, Ordering::SeqCst);
    let of = world.underlay.join(host(1)).unwrap();
    world.agent(1, Watched { of, calls: calls.clone() });
    world.subnet("s", 17, "10.1.0.0/24").await;
    world.attach("a", "node-1", "s").await;
    let asleep = "the switch cannot be reached: it is asleep";
    world.until("a", |it| it.is_some_and(|it| it.status.errors.host == [asleep])).await;
    calls.refuses.store(false, Ordering::SeqCst);
    world.until_ready("a").await;
    world.until("a", |it| it.is_some_and(|it| it.status.errors.host.is_empty())).await;

    // While it cannot take an interface away the attachment stays, and with it the address.
    calls.refuses.store(true, Ordering::SeqCst);
    world.attachments.delete(&key("default", "a")).await.unwrap();
    world.until("a", |it| it.is_some_and(|it| it.status.errors.host == [asleep])).await;
    calls.refuses.store(false, Ordering::SeqCst);
    world.until("a", |it| it.is_none()).await;
    world.plane.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_stranger_writes_over_an_agents_words_is_put_right() {
    let world = World::new(1).await;
    world.subnet("s", 17, "10.1.0.0/24").await;
    world.attach("a", "node-1", "s").await;
    world.until_ready("a").await;
    let mut wrong = (*world.get("a").unwrap()).clone();
    let right = wrong.status.clone();
    wrong.status.host_ip = "192.0.2.99".into();
    wrong.status.ifc_name = "eth0".into();
    world.attachments.update_status(&wrong).await.unwrap();
    world.until("a", |it| it.is_some_and(|it| it.status == right)).await;
    world.plane.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_without_an_agent_holds_up_nobody() {
    let world = World::new(1).await;
    world.subnet("s", 17, "10.1.0.0/24").await;
    world.attach("nowhere", "node-9", "s").await;
    world.attach("a", "node-1", "s").await;
    world.until_ready("a").await;
    world.until("nowhere", |it| it.is_some_and(|it| !it.status.ipv4.is_empty())).await;
    world.attachments.delete(&key("default", "nowhere")).await.unwrap();
    world.until("nowhere", |it| it.is_none()).await;
    world.plane.stop().await;
}
