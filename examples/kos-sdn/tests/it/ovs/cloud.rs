//! Hosts with an API server, controllers and agents in this process, and the isolation probe.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kos::agent::{Agent, AgentSettings};
use kos::controllers::{self, ControllerSettings};
use kos::drive::Fabric;
use kos::drive::ovs::fabric::{OvsFabric, OvsSettings};
use kos::model::{AttachmentStatus, NetworkAttachment, Subnet, ip_locks, network_attachments, subnets};
use kos::plan::ovs::SwitchSettings;
use machinery::objects::Filter;
use machinery::{Objects, Plane};

use super::command::try_run;
use super::hosts::{Host, Hosts};
use super::probe::{IsolationProbe, Station};
use super::running_agent::RunningAgent;
use crate::server::{create_namespace, key, plane_on};

/// Above the time that anything takes on a busy machine.
pub(super) const DEADLINE: Duration = Duration::from_secs(90);

/// The networks of tests; both have the same addresses.
pub(super) const NETWORKS: [(&str, u32); 2] = [("red", 71), ("blue", 72)];
pub(super) const BLOCK: &str = "10.7.0.0/29";
pub(super) const PREFIX_LENGTH: u8 = 29;

/// Hosts with a control plane.
pub(super) struct Cloud {
    // Dropped first: its sockets keep namespaces alive.
    pub(super) probe: IsolationProbe,
    stations: BTreeMap<Station, u32>,
    agents: BTreeMap<u8, RunningAgent>,
    pub(super) plane: Plane,
    pub(super) attachments: Objects<NetworkAttachment>,
    pub(super) subnets: Objects<Subnet>,
    pub(super) hosts: Hosts,
}

impl Cloud {
    /// Starts hosts with agents. The fallback timer of agents never fires.
    pub(super) async fn start(hosts: u8) -> Self {
        let hosts = Hosts::start(hosts);
        let start =
            machinery::embedded().kind_of(subnets()).kind_of(network_attachments()).kind_of(ip_locks());
        let plane = start.start().await.unwrap();
        create_namespace(plane.server().unwrap(), &hosts.tag).await;
        controllers::run(&plane, ControllerSettings::default()).unwrap();
        let (attachments, subnets) = (plane.objects().unwrap(), plane.objects().unwrap());
        let (probe, stations, agents) = (IsolationProbe::default(), BTreeMap::new(), BTreeMap::new());
        let mut cloud = Self { probe, stations, agents, plane, attachments, subnets, hosts };
        for number in 1..=u8::try_from(cloud.hosts.hosts.len()).unwrap() {
            cloud.start_agent(number, cloud.host(number).address()).await;
        }
        cloud
    }

    /// Starts hosts with the usual attachments, and waits until all is as desired.
    pub(super) async fn with_attachments() -> Self {
        let mut cloud = Self::start(3).await;
        cloud.create_attachments().await;
        cloud
    }

    /// Creates the usual attachments, and waits until all is as desired.
    pub(super) async fn create_attachments(&mut self) {
        for (subnet, vni) in NETWORKS {
            self.subnet(subnet, vni).await;
        }
        // Each network on each host, and one pair of neighbours.
        for (name, node, subnet) in [
            ("r1", 1, "red"),
            ("r2", 2, "red"),
            ("r3", 3, "red"),
            ("r4", 1, "red"),
            ("b1", 1, "blue"),
            ("b2", 2, "blue"),
            ("b3", 3, "blue"),
        ] {
            self.attach(name, node, subnet).await;
        }
        self.wait_until_as_desired("after the start", DEADLINE).await;
        self.probe.wait_for_all_pairs(DEADLINE);
    }

    pub(super) fn host(&self, number: u8) -> &Host {
        &self.hosts.hosts[usize::from(number) - 1]
    }

    pub(super) fn host_mut(&mut self, number: u8) -> &mut Host {
        &mut self.hosts.hosts[usize::from(number) - 1]
    }

    /// Returns the underlay address of a node, as its agent reports it.
    pub(super) fn node_address(&self, number: u8) -> Ipv4Addr {
        self.agents[&number].address
    }

    /// Starts the agent of a host with an underlay address.
    pub(super) async fn start_agent(&mut self, number: u8, address: Ipv4Addr) {
        let agent = self.another_agent(number, address).await;
        self.agents.insert(number, agent);
    }

    /// Starts an agent of a host, besides another.
    pub(super) async fn another_agent(&self, number: u8, address: Ipv4Addr) -> RunningAgent {
        let node = format!("node-{number}");
        let mut switch = SwitchSettings::new(&node, address);
        switch.into_namespaces = true;
        let settings = OvsSettings::new(switch, self.host(number).daemons.folder());
        let fabric = OvsFabric::start(settings).unwrap();
        let plane = plane_on(self.plane.server().unwrap()).await;
        let mut settings = AgentSettings::new(&node, address);
        settings.reconcile_interval = Duration::from_secs(3600);
        let fabric = Arc::new(fabric);
        let shared: Arc<dyn Fabric> = fabric.clone();
        Agent::run(&plane, settings, shared, &plane.recorder("kos")).unwrap();
        RunningAgent { plane, fabric, address }
    }

    pub(super) async fn kill_agent(&mut self, number: u8) {
        self.agents.remove(&number).unwrap().kill().await;
    }

    /// Makes an agent that runs beside another the agent of its host.
    pub(super) fn adopt_agent(&mut self, number: u8, agent: RunningAgent) {
        self.agents.insert(number, agent);
    }

    /// Waits until the status of each attachment meets a condition.
    pub(super) async fn until_all(&self, condition: impl Fn(&AttachmentStatus) -> bool) {
        self.until(|all| all.iter().all(|it| condition(&it.status))).await;
    }

    /// Waits until an attachment is deleted.
    pub(super) async fn until_gone(&self, name: &str) {
        self.until(|all| all.iter().all(|it| it.metadata.name.as_deref() != Some(name))).await;
    }

    async fn until(&self, condition: impl Fn(&[Arc<NetworkAttachment>]) -> bool) {
        let started = Instant::now();
        loop {
            let all = self.all().await;
            if condition(&all) {
                return;
            }
            assert!(started.elapsed() < DEADLINE, "the condition never held: {all:#?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The namespace of all objects: its name is part of the names of network namespaces.
    pub(super) fn namespace(&self) -> &str {
        &self.hosts.tag
    }

    pub(super) async fn subnet(&self, name: &str, vni: u32) {
        self.subnets.create(&Subnet::new(self.namespace(), name, vni, BLOCK)).await.unwrap();
    }

    pub(super) async fn delete_subnet(&self, name: &str) {
        self.subnets.delete(&key(self.namespace(), name)).await.unwrap();
    }

    pub(super) async fn attach(&self, name: &str, node: u8, subnet: &str) {
        let node = format!("node-{node}");
        let attachment = NetworkAttachment::new(self.namespace(), name, &node, subnet);
        self.attachments.create(&attachment).await.unwrap();
    }

    pub(super) async fn detach(&self, name: &str) {
        self.attachments.delete(&key(self.namespace(), name)).await.unwrap();
    }

    pub(super) fn get(&self, name: &str) -> Option<Arc<NetworkAttachment>> {
        self.attachments.get(&key(self.namespace(), name))
    }

    /// Returns all attachments as the server has them.
    pub(super) async fn all(&self) -> Vec<Arc<NetworkAttachment>> {
        self.attachments.list(&Filter::default()).await.unwrap()
    }

    /// Returns the name of an attachment's network namespace.
    pub(super) fn workload(&self, name: &str) -> String {
        format!("{}.{name}", self.namespace())
    }

    /// Returns an attachment as a station of the probe.
    pub(super) fn station(&self, name: &str) -> Station {
        self.station_of(&self.get(name).unwrap()).unwrap()
    }

    fn station_of(&self, attachment: &NetworkAttachment) -> Option<Station> {
        let address = attachment.status.ipv4.parse().ok()?;
        let name = attachment.metadata.name.as_deref()?;
        Some(Station::new(&self.workload(name), attachment.status.address_vni, address))
    }

    /// Makes the stations of the probe those of the attachments.
    pub(super) fn update_stations(&mut self, attachments: &[Arc<NetworkAttachment>]) {
        let desired: Vec<_> = attachments.iter().filter_map(|it| self.station_of(it)).collect();
        for station in &desired {
            if !self.stations.contains_key(station) {
                let number = self.probe.add(station.clone());
                self.stations.insert(station.clone(), number);
            }
        }
        let gone: Vec<_> = self.stations.extract_if(.., |station, _| !desired.contains(station)).collect();
        for (_, number) in gone {
            self.probe.remove(number);
        }
    }

    /// Waits until rows, flows, links and pings are those of the API's state; returns the time.
    pub(super) async fn wait_until_as_desired(&mut self, after: &str, limit: Duration) -> Duration {
        let started = Instant::now();
        loop {
            let attachments = self.all().await;
            self.update_stations(&attachments);
            let wrong = self.differences(&attachments);
            let elapsed = started.elapsed();
            if wrong.is_empty() {
                return elapsed;
            }
            if elapsed > limit {
                let state = self.diagnosis().await;
                if std::env::var_os("KOS_TEST_PAUSE").is_some() {
                    eprintln!("{after}: {wrong:#?}\n{}", self.hosts.folder.path().display());
                    tokio::time::sleep(Duration::from_secs(600)).await;
                }
                panic!("{after}: differences after {elapsed:?}: {wrong:#?}\n{state}");
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Describes the hosts, for the message of a failed test.
    async fn diagnosis(&self) -> String {
        let mut text = String::new();
        for host in &self.hosts.hosts {
            let status = self.agents[&host.number].fabric.status().await;
            let links = try_run(&["ip", "-n", host.namespace.name(), "-br", "link"]);
            let ports = host.daemons.ofctl("show", "kos", &[]);
            writeln!(text, "h{}: {status:?}\n{}\n{}", host.number, either(links), either(ports)).unwrap();
        }
        text
    }

    /// Ends everything.
    pub(super) async fn stop(mut self) {
        for (_, agent) in std::mem::take(&mut self.agents) {
            agent.kill().await;
        }
        self.plane.stop().await;
    }
}

impl Drop for Cloud {
    fn drop(&mut self) {
        // Threads that hold namespaces end before the names of the namespaces do.
        self.probe = IsolationProbe::default();
        super::namespace::delete_all(&format!("{}.", self.hosts.tag));
    }
}

fn either(result: Result<String, String>) -> String {
    result.unwrap_or_else(|error| error)
}
