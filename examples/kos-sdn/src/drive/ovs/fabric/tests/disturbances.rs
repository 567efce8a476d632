//! Changes by others, and restarts: each is noticed and repaired.

use machinery::tokio;

use super::bench::{FabricBench, local, remote};
use crate::drive::FabricRepairs;
use crate::drive::ovs::links::{LinkPlace, NamespaceName};
use crate::drive::ovs::openflow::{FlowChange, FoundFlow, OpaqueFlow};
use crate::drive::ovs::ovsdb::{Datum, Mutation, OvsdbTable, RowValues, Rows, Transaction};
use crate::plan::Flow;

/// A fabric with two local and one remote interface, and its state.
async fn bench() -> (FabricBench, Reference) {
    let bench = FabricBench::new().await;
    bench.fabric.create_local(&local(2)).await.unwrap();
    bench.fabric.create_local(&local(3)).await.unwrap();
    bench.fabric.create_remote(&remote(4)).await.unwrap();
    let flows = bench.ovs.flows.flows();
    let repairs = bench.fabric.repairs();
    let reference = Reference { state: bench.state().await, flows: flows.len(), repairs };
    (bench, reference)
}

struct Reference {
    state: (Vec<String>, usize, Vec<String>),
    flows: usize,
    repairs: FabricRepairs,
}

impl Reference {
    /// Waits until a disturbance is repaired, and compares the state.
    async fn restore(self, bench: FabricBench) -> FabricRepairs {
        let repairs = bench.repaired(self.repairs).await;
        self.compare(bench).await;
        repairs
    }

    async fn compare(self, bench: FabricBench) {
        assert_eq!(bench.state().await, self.state);
        assert_eq!(bench.ovs.flows.flows().len(), self.flows);
        assert!(bench.fabric.actuator.status().broken.is_empty());
        bench.crash().await;
    }
}

fn edit(bench: &FabricBench, change: impl FnOnce(&Rows, &mut Transaction)) {
    let (rows, mut transaction) = (bench.ovs.database.rows(), Transaction::new());
    change(&rows, &mut transaction);
    bench.ovs.edit(&transaction).unwrap();
}

fn flow_of(bench: &FabricBench, table: u8, priority: u16) -> Flow {
    let flows = bench.ovs.flows.flows().into_iter();
    let known = flows.filter_map(|flow| match flow {
        FoundFlow::Known(flow) => Some(flow),
        FoundFlow::Opaque(_) => None,
    });
    known.into_iter().find(|flow| (flow.table, flow.priority) == (table, priority)).unwrap()
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_deleted_flow_is_added_again() {
    let (bench, reference) = bench().await;
    bench.ovs.flows.change_by_others(&FlowChange::Delete(flow_of(&bench, 1, 100)));
    let repairs = reference.restore(bench).await;
    assert_eq!(repairs, FabricRepairs { missing_flows: 1, ..FabricRepairs::default() });
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_changed_flow_is_replaced() {
    let (bench, reference) = bench().await;
    let changed = Flow { actions: Vec::new(), cookie: 7, ..flow_of(&bench, 1, 100) };
    bench.ovs.flows.change_by_others(&FlowChange::Add(changed));
    let repairs = reference.restore(bench).await;
    assert_eq!((repairs.missing_flows, repairs.foreign_flows), (1, 1));
}

#[tokio::test(crate = "machinery::tokio")]
async fn added_flows_are_removed() {
    let (bench, reference) = bench().await;
    bench.ovs.flows.add_opaque(OpaqueFlow { table: 0, priority: 65535, cookie: 0, oxm: Vec::new() });
    let repairs = reference.restore(bench).await;
    assert_eq!(repairs, FabricRepairs { foreign_flows: 1, ..FabricRepairs::default() });
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_changed_fail_mode_is_set_back() {
    let (bench, reference) = bench().await;
    edit(&bench, |rows, transaction| {
        let row = RowValues::new().with("fail_mode", "standalone");
        transaction.update(OvsdbTable::Bridge, rows.bridge("kos").unwrap().uuid, row);
    });
    let repairs = reference.restore(bench).await;
    assert_eq!(repairs.bridges, 1);
}

#[tokio::test(crate = "machinery::tokio")]
async fn changed_tunnel_options_are_set_back() {
    let (bench, reference) = bench().await;
    edit(&bench, |rows, transaction| {
        let options = Datum::map([("key", "1"), ("remote_ip", "192.0.2.66")]);
        let row = RowValues::new().with("options", options);
        transaction.update(OvsdbTable::Interface, rows.interface("kos-vtep").unwrap().uuid, row);
    });
    let repairs = reference.restore(bench).await;
    assert_eq!(repairs.tunnels, 1);
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_deleted_port_is_created_again_with_its_link_and_flows() {
    let (bench, reference) = bench().await;
    edit(&bench, |rows, transaction| {
        let port = rows.port(&local(2).name).unwrap().uuid;
        let bridge = rows.bridge("kos").unwrap().uuid;
        transaction.mutate(OvsdbTable::Bridge, bridge, vec![Mutation::delete("ports", port)]);
    });
    let repairs = reference.restore(bench).await;
    assert_eq!((repairs.missing_ports, repairs.links), (1, 1));
}

/// The new port gets the number of the deleted one.
#[tokio::test(crate = "machinery::tokio")]
async fn a_foreign_port_with_the_number_of_a_deleted_one_gets_no_flows() {
    let (bench, reference) = bench().await;
    edit(&bench, |rows, transaction| {
        let port = rows.port(&local(2).name).unwrap().uuid;
        let bridge = rows.bridge("kos").unwrap().uuid;
        transaction.mutate(OvsdbTable::Bridge, bridge, vec![Mutation::delete("ports", port)]);
        let row = RowValues::new().with("name", "x").with("type", "internal");
        let interface = transaction.insert(OvsdbTable::Interface, "i", row);
        let row = RowValues::new().with("name", "x").with("interfaces", interface);
        let port = transaction.insert(OvsdbTable::Port, "p", row);
        transaction.mutate(OvsdbTable::Bridge, bridge, vec![Mutation::insert("ports", port)]);
    });
    let repairs = reference.restore(bench).await;
    assert_eq!((repairs.missing_ports, repairs.foreign_ports), (1, 1));
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_deleted_bridge_is_created_again() {
    let (bench, reference) = bench().await;
    edit(&bench, |rows, transaction| {
        let bridge = rows.bridge("kos").unwrap().uuid;
        let root = rows.root().unwrap().uuid;
        transaction.mutate(OvsdbTable::Root, root, vec![Mutation::delete("bridges", bridge)]);
    });
    let repairs = reference.restore(bench).await;
    assert_eq!((repairs.bridges, repairs.missing_ports), (1, 2));
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_lost_database_is_written_again() {
    let (bench, reference) = bench().await;
    bench.ovs.lose_data();
    let repairs = reference.restore(bench).await;
    assert_eq!((repairs.bridges, repairs.missing_ports), (1, 2));
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_restarted_switch_gets_its_links_and_flows_back() {
    let (bench, reference) = bench().await;
    bench.ovs.kill_switch();
    bench.ovs.start_switch();
    let repairs = reference.restore(bench).await;
    assert_eq!((repairs.missing_flows, repairs.missing_ports), (2 + 3 * 4, 0));
    assert!(repairs.links >= 2, "{repairs:?}");
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_restarted_database_changes_nothing() {
    let (bench, reference) = bench().await;
    bench.ovs.database.stop();
    assert!(bench.fabric.create_remote(&remote(9)).await.is_err());
    assert!(!bench.fabric.status().await.is_reachable);
    bench.ovs.database.start();
    // The withdrawn interface was never created.
    bench.settled().await;
    assert_eq!(bench.fabric.repairs(), reference.repairs);
    reference.compare(bench).await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_deleted_workload_namespace_is_created_again() {
    let (bench, reference) = bench().await;
    let name = NamespaceName::of_attachment("default", "a2").unwrap();
    bench.ovs.links.delete_namespace(&name);
    let repairs = reference.restore(bench).await;
    assert_eq!((repairs.missing_ports, repairs.links), (1, 1));
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_changed_link_is_set_back() {
    let (bench, reference) = bench().await;
    let place = LinkPlace::Workload(NamespaceName::of_attachment("default", "a2").unwrap());
    bench.ovs.links.edit(&place, &local(2).name, |link| {
        (link.mtu, link.up) = (9000, false);
        link.addresses.clear();
    });
    let repairs = reference.restore(bench).await;
    assert_eq!(repairs, FabricRepairs { links: 1, ..FabricRepairs::default() });
}

#[tokio::test(crate = "machinery::tokio")]
async fn lost_link_events_lead_to_a_comparison() {
    let (bench, reference) = bench().await;
    let place = LinkPlace::Workload(NamespaceName::of_attachment("default", "a2").unwrap());
    bench.ovs.links.edit(&place, &local(2).name, |link| link.mtu = 9000);
    bench.ovs.links.lose_events();
    assert_eq!(reference.restore(bench).await.links, 1);
}

#[tokio::test(crate = "machinery::tokio")]
async fn own_changes_cause_no_repair() {
    let (bench, reference) = bench().await;
    let commits = bench.ovs.database.commits();
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!((bench.fabric.repairs(), bench.ovs.database.commits()), (reference.repairs, commits));
    bench.crash().await;
}
