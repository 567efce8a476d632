//! Agents on a plane, over the simulated network: frames tell whether it works.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use kos::agent::{Agent, AgentSettings};
use kos::controllers::{Ipam, IpamSettings, validate};
use kos::drive::sim::{PingError, SimLimits, Underlay};
use kos::model::{
    AttachmentSpec, NetworkAttachment, Subnet, SubnetSpec, ip_locks, network_attachments, subnets,
};
use kos::plan::{AddressKey, FINALIZER};
use machinery::{Objects, Plane};

use crate::server::key;

/// More than anything takes on a machine that is busy.
const DEADLINE: Duration = Duration::from_secs(60);

struct World {
    plane: Plane,
    underlay: Underlay,
    agents: Vec<Agent>,
    attachments: Objects<NetworkAttachment>,
    subnets: Objects<Subnet>,
}

fn host(node: u8) -> Ipv4Addr {
    Ipv4Addr::new(192, 0, 2, node)
}

impl World {
    async fn new(nodes: u8) -> Self {
        let begin =
            machinery::embedded().kind_of(subnets()).kind_of(network_attachments()).kind_of(ip_locks());
        let plane = begin.start().await.unwrap();
        let recorder = plane.recorder("kos");
        Ipam::run(&plane, &recorder, IpamSettings::default()).unwrap();
        validate(&plane, &recorder).unwrap();
        let underlay = Underlay::new(SimLimits::default());
        let agent = |node| {
            let settings = AgentSettings { node: format!("node-{node}"), host: host(node) };
            let fabric = Arc::new(underlay.join(host(node)).unwrap());
            Agent::run(&plane, settings, fabric, &recorder).unwrap()
        };
        let agents = (1..=nodes).map(agent).collect();
        let (attachments, subnets) = (plane.objects().unwrap(), plane.objects().unwrap());
        Self { plane, underlay, agents, attachments, subnets }
    }

    async fn subnet(&self, name: &str, vni: u32, ipv4: &str) {
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

    fn get(&self, name: &str) -> Option<Arc<NetworkAttachment>> {
        self.attachments.get(&key("default", name))
    }

    /// Until the attachment is as said.
    async fn until(&self, name: &str, is_so: impl Fn(Option<&NetworkAttachment>) -> bool) {
        let so = async {
            while !is_so(self.get(name).as_deref()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(DEADLINE, so).await.is_err() {
            panic!("{name} never was so: {:#?}", self.get(name));
        }
    }

    async fn until_ready(&self, name: &str) {
        self.until(name, |it| it.is_some_and(|it| !it.status.ifc_name.is_empty())).await;
    }

    fn ping(&self, from: &str, to: &str) -> Result<(), PingError> {
        let (from, to) = (self.get(from).unwrap(), self.get(to).unwrap());
        let vni = kos::model::Vni::new(from.status.address_vni).unwrap();
        let who = AddressKey { vni, address: from.status.ipv4.parse().unwrap() };
        let node = from.status.host_ip.parse().unwrap();
        self.underlay.ping(node, who, to.status.ipv4.parse().unwrap(), 1)
    }

    async fn until_pings(&self, from: &str, to: &str) {
        let pings = async {
            while self.ping(from, to).is_err() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(DEADLINE, pings).await.unwrap();
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
    let gone = async {
        while world.agents[0].interfaces().contains_key(&key("default", "a2")) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(DEADLINE, gone).await.unwrap();
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
