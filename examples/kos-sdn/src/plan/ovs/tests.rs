//! Stages on a simulated switch, one at a time.

use std::net::Ipv4Addr;
use std::sync::Arc;

use machinery::objects::ObjectKey;
use machinery::tokio;

use super::*;
use crate::drive::InterfaceBook;
use crate::drive::ovs::fabric::fake::FakeOvs;
use crate::drive::ovs::links::Links as _;
use crate::drive::ovs::openflow::{FlowChange, FlowSwitch as _, FoundFlow};
use crate::model::Vni;
use crate::plan::{Flow, LocalInterface, Match, Port, RemoteInterface};

const HOST: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

/// A simulated switch, and the desired interfaces.
struct PlannedSwitch {
    ovs: FakeOvs,
    settings: SwitchSettings,
    desired: InterfaceBook,
}

fn local(low: u8) -> LocalInterface {
    let key = ObjectKey::new(Some("default"), &format!("a{low}")).unwrap();
    LocalInterface::new(Vni::new(1).unwrap(), [10, 0, 0, low].into()).with_workload(key, Some(24))
}

fn remote(low: u8) -> RemoteInterface {
    RemoteInterface::new(Vni::new(1).unwrap(), [10, 0, 0, low].into(), [192, 0, 2, 9].into())
}

impl PlannedSwitch {
    async fn new() -> Self {
        let settings = SwitchSettings { into_namespaces: true, ..SwitchSettings::new("node-1", HOST) };
        let (ovs, desired) = (FakeOvs::new("kos", HOST, 1500), InterfaceBook::new(100));
        let switch = Self { ovs, settings, desired };
        assert_eq!(switch.converge().await, ["write", "add flows"]);
        switch
    }

    async fn observed(&self) -> ObservedSwitch {
        let ports = self.ovs.flows.ports().await.unwrap().into_iter();
        ObservedSwitch {
            rows: self.ovs.database.rows(),
            ports: Some(Arc::new(ports.map(|port| (port.name, port.number)).collect())),
            flows: self.ovs.flows.flows().into_iter().collect(),
            links: LinkIndex::new(self.ovs.links.list().await.unwrap()),
        }
    }

    /// Applies stages until nothing is left, and returns their names.
    async fn converge(&self) -> Vec<&'static str> {
        let mut stages = Vec::new();
        for _ in 0..20 {
            let observed = self.observed().await;
            let attempts = Attempts::default();
            let plan = next_stage(&self.settings, &self.desired, &observed, (&Scope::All, &attempts));
            assert_eq!(plan.fault, None);
            let Some(stage) = plan.stage else { return stages };
            stages.push(self.apply(stage).await);
        }
        panic!("no end of stages: {stages:?}");
    }

    async fn apply(&self, stage: Stage) -> &'static str {
        match stage {
            Stage::RemoveFlows(flows) => {
                let changes = flows.iter().map(FoundFlow::deletion).collect();
                self.ovs.flows.apply(changes).await.unwrap();
                "remove flows"
            }
            Stage::Write(changes) => {
                self.ovs.edit(&transaction(&self.settings, &changes)).unwrap();
                "write"
            }
            Stage::AddFlows(groups) => {
                let flows = groups.into_iter().flat_map(|group| group.flows);
                self.ovs.flows.apply(flows.map(FlowChange::Add).collect()).await.unwrap();
                "add flows"
            }
            Stage::Links(work) => {
                for work in work {
                    self.ovs.links.apply(&work.steps).await.unwrap();
                }
                "links"
            }
        }
    }
}

#[tokio::test(crate = "machinery::tokio")]
async fn flows_are_added_after_their_port_and_removed_before_it() {
    let mut switch = PlannedSwitch::new().await;
    switch.desired.add_local(&local(2)).unwrap();
    assert_eq!(switch.converge().await, ["write", "links", "add flows"]);
    assert!(switch.desired.remove_local(&local(2)));
    assert_eq!(switch.converge().await, ["remove flows", "write", "links"]);
    assert_eq!(switch.converge().await, [""; 0]);
}

/// The next port has the number of the deleted one.
#[tokio::test(crate = "machinery::tokio")]
async fn a_reused_port_number_has_the_flows_of_its_new_interface_only() {
    let mut switch = PlannedSwitch::new().await;
    switch.desired.add_local(&local(2)).unwrap();
    switch.converge().await;
    let numbers = switch.observed().await.ports.unwrap();
    switch.desired.remove_local(&local(2));
    switch.desired.add_local(&local(3)).unwrap();
    assert_eq!(switch.converge().await[..2], ["remove flows", "write"]);
    let observed = switch.observed().await;
    assert!(observed.ports.unwrap()[&local(3).name] >= numbers[&local(2).name]);
    assert_eq!(observed.flows.of(crate::plan::local_cookie(local(2).mac)).count(), 0);
    assert_eq!(observed.flows.len(), 2 + 4);
}

#[tokio::test(crate = "machinery::tokio")]
async fn remote_interfaces_do_not_wait_for_links() {
    let mut switch = PlannedSwitch::new().await;
    switch.desired.add_local(&local(2)).unwrap();
    switch.desired.add_remote(&remote(3)).unwrap();
    assert_eq!(switch.converge().await, ["write", "add flows", "links", "add flows"]);
}

#[tokio::test(crate = "machinery::tokio")]
async fn interfaces_are_rebuilt_from_marks_and_flows() {
    let mut switch = PlannedSwitch::new().await;
    switch.desired.add_local(&local(2)).unwrap();
    switch.desired.add_remote(&remote(3)).unwrap();
    switch.converge().await;
    let rebuilt = rebuilt_interfaces(&switch.settings, &switch.observed().await, 100);
    assert_eq!(rebuilt, switch.desired);
    let other = SwitchSettings::new("node-2", HOST);
    let observed = switch.observed().await;
    assert_eq!(rebuilt_interfaces(&other, &observed, 100), InterfaceBook::new(100));
    let nothing = InterfaceBook::new(100);
    let plan = next_stage(&other, &nothing, &observed, (&Scope::All, &Attempts::default()));
    assert!(plan.fault.is_some() && plan.stage.is_none(), "the bridge of another node is left alone");
}

#[test]
fn a_flow_replaces_the_one_of_its_place_in_the_index() {
    let flow = |cookie: u64, priority: u16| Flow {
        table: 0,
        priority,
        cookie,
        matches: Match { in_port: Some(Port(1)), ..Match::default() },
        actions: Vec::new(),
    };
    let mut index = FlowIndex::default();
    index.insert(flow(1, 100));
    index.insert(flow(1, 200));
    index.insert(flow(2, 100));
    assert_eq!((index.len(), index.of(1).count(), index.of(2).count()), (2, 1, 1));
    index.remove(&FoundFlow::Known(flow(9, 100)));
    assert_eq!((index.len(), index.of(2).count()), (1, 0));
}
