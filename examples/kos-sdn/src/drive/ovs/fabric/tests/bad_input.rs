//! Bad input and broken peers: an error names each, and other interfaces continue.

use machinery::objects::ObjectKey;
use machinery::tokio;

use super::bench::{FabricBench, HOST, local, remote, vni};
use crate::drive::ovs::fabric::fake::FakeOvs;
use crate::drive::ovs::links::{LinkError, NamespaceName};
use crate::drive::ovs::ovsdb::fake::FakeFault;
use crate::drive::ovs::ovsdb::{Datum, Mutation, OvsdbTable, RowValues, Transaction};
use crate::drive::{FabricError, FabricRepairs, InterfaceList};
use crate::plan::{Interface, LocalInterface, local_cookie};

/// Creates two local interfaces at once: the first fails, and leaves nothing.
async fn first_fails(bench: &FabricBench) -> FabricError {
    let before = bench.state().await;
    let (one, other) = (local(2), local(3));
    let (failed, created) = tokio::join!(bench.fabric.create_local(&one), bench.fabric.create_local(&other));
    created.unwrap();
    let list = InterfaceList { locals: vec![other.clone()], ..InterfaceList::default() };
    assert_eq!(bench.fabric.list().await, Ok(list));
    assert_eq!(bench.fabric.reconcile().await, Ok(FabricRepairs::default()), "nothing is half applied");
    bench.fabric.delete_local(&other).await.unwrap();
    assert_eq!(bench.state().await, before);
    failed.unwrap_err()
}

/// Adds a bridge of another program with one port.
fn foreign_bridge(bench: &FakeOvs, name: &str, kind: &str, options: &[(&str, &str)]) {
    let root = bench.database.rows().root().unwrap().uuid;
    let mut transaction = Transaction::new();
    let options = Datum::map(options.iter().copied());
    let row = RowValues::new().with("name", name).with("type", kind).with("options", options);
    let interface = transaction.insert(OvsdbTable::Interface, "i", row);
    let row = RowValues::new().with("name", name).with("interfaces", interface);
    let port = transaction.insert(OvsdbTable::Port, "p", row);
    let row = RowValues::new().with("name", "theirs").with("ports", port);
    let bridge = transaction.insert(OvsdbTable::Bridge, "b", row);
    transaction.mutate(OvsdbTable::Root, root, vec![Mutation::insert("bridges", bridge)]);
    bench.edit(&transaction).unwrap();
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_port_that_cannot_be_created_is_refused_with_its_error() {
    let bench = FabricBench::new().await;
    bench.ovs.database.refuse_interface(&local(2).name, "could not open network device: Too many open files");
    let error = first_fails(&bench).await;
    assert!(
        matches!(&error, FabricError::Refused { reason, .. } if reason.contains("Too many open files")),
        "{error}"
    );
    bench.ovs.database.accept_interface(&local(2).name);
    bench.fabric.create_local(&local(2)).await.unwrap();
    bench.crash().await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_foreign_port_with_the_name_of_an_interface_is_left_alone() {
    let bench = FabricBench::new().await;
    foreign_bridge(&bench.ovs, &local(2).name, "internal", &[]);
    let before = bench.ovs.database.rows().bridge("theirs").unwrap().clone();
    let error = first_fails(&bench).await;
    assert!(matches!(&error, FabricError::Foreign { what, .. } if what.contains(&local(2).name)), "{error}");
    assert_eq!(*bench.ovs.database.rows().bridge("theirs").unwrap(), before);
    bench.crash().await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_foreign_namespace_is_left_alone() {
    let bench = FabricBench::new().await;
    bench.ovs.links.add_foreign_namespace(NamespaceName::of_attachment("default", "a2").unwrap());
    let error = first_fails(&bench).await;
    assert!(matches!(&error, FabricError::Foreign { what, .. } if what.contains("default.a2")), "{error}");
    bench.crash().await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_refused_flow_fails_its_interface_only() {
    let bench = FabricBench::new().await;
    bench.ovs.flows.refuse_cookie(Some(local_cookie(local(2).mac)));
    let error = first_fails(&bench).await;
    assert!(matches!(&error, FabricError::Refused { .. }), "{error}");
    bench.crash().await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_failed_link_step_fails_its_interface_only() {
    let bench = FabricBench::new().await;
    let exhausted = LinkError::Exhausted { operation: "creating".into(), reason: "EMFILE".into() };
    bench.ovs.links.fail_step(0, exhausted);
    let error = first_fails(&bench).await;
    assert!(error.to_string().contains("a limit of this system is reached"), "{error}");
    bench.crash().await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_refused_transaction_is_repeated_for_each_change() {
    let bench = FabricBench::new().await;
    let refused = FakeFault::RefuseCommit("constraint violation".into(), "by the test".into());
    bench.ovs.database.inject(refused);
    let (one, other) = (local(2), local(3));
    tokio::try_join!(bench.fabric.create_local(&one), bench.fabric.create_local(&other)).unwrap();
    bench.crash().await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_second_vxlan_port_fails_remote_interfaces_only() {
    let ovs = FakeOvs::new("kos", HOST, 1500);
    let options = [("key", "flow"), ("remote_ip", "flow"), ("local_ip", "192.0.2.1")];
    foreign_bridge(&ovs, "theirs-vxlan", "vxlan", &options);
    let bench = FabricBench::on(ovs);
    bench.fabric.list().await.unwrap();
    bench.fabric.reconcile().await.unwrap();
    bench.fabric.create_local(&local(2)).await.unwrap();
    let error = bench.fabric.create_remote(&remote(3)).await.unwrap_err();
    assert!(matches!(&error, FabricError::Refused { reason, .. } if reason.contains("VXLAN")), "{error}");
    bench.crash().await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn an_unmarked_bridge_is_left_alone() {
    let ovs = FakeOvs::new("kos", HOST, 1500);
    foreign_bridge(&ovs, "port", "internal", &[]);
    let rename = |transaction: &mut Transaction| {
        let root = ovs.database.rows().root().unwrap().uuid;
        let row = RowValues::new().with("name", "kos");
        let bridge = transaction.insert(OvsdbTable::Bridge, "b", row);
        transaction.mutate(OvsdbTable::Root, root, vec![Mutation::insert("bridges", bridge)]);
    };
    let mut transaction = Transaction::new();
    rename(&mut transaction);
    ovs.edit(&transaction).unwrap();
    let (commits, bench) = (ovs.database.commits(), FabricBench::on(ovs.clone()));
    let error = bench.fabric.list().await.unwrap_err();
    assert!(matches!(&error, FabricError::Foreign { remedy, .. } if remedy.contains("--bridge")), "{error}");
    assert!(bench.fabric.create_local(&local(2)).await.is_err());
    assert_eq!(ovs.database.commits(), commits);
    bench.crash().await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn an_agent_without_the_lock_writes_nothing() {
    let bench = FabricBench::new().await;
    bench.fabric.create_local(&local(2)).await.unwrap();
    let (commits, bundles) = (bench.ovs.database.commits(), bench.ovs.flows.bundles().len());
    bench.ovs.links.take_steps();
    bench.ovs.database.steal_lock("kos");
    let error = bench.fabric.create_local(&local(3)).await.unwrap_err();
    assert!(matches!(&error, FabricError::LockLost { .. }), "{error}");
    assert!(bench.fabric.delete_local(&local(2)).await.is_err());
    assert!(bench.fabric.create_remote(&remote(3)).await.is_err());
    assert!(bench.fabric.reconcile().await.is_err());
    assert_eq!((bench.ovs.database.commits(), bench.ovs.flows.bundles().len()), (commits, bundles));
    assert_eq!(bench.ovs.links.take_steps(), []);
    bench.ovs.database.release_lock("kos");
    bench.settled().await;
    bench.fabric.delete_local(&local(2)).await.unwrap();
    assert_eq!(bench.state().await.2, [""; 0]);
    bench.crash().await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn changes_with_an_unknown_outcome_are_compared_again() {
    for committed in [false, true] {
        let bench = FabricBench::new().await;
        bench.ovs.database.inject(FakeFault::LoseReply { committed });
        bench.ovs.flows.lose_responses(1);
        // The first attempt may fail; it leaves nothing that prevents the second.
        if bench.fabric.create_local(&local(2)).await.is_err() {
            bench.settled().await;
            bench.fabric.create_local(&local(2)).await.unwrap();
        }
        assert_eq!(bench.state().await.1, 2 + 4);
        assert_eq!(bench.fabric.reconcile().await, Ok(FabricRepairs::default()));
        bench.crash().await;
    }
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_switch_that_answers_nonsense_or_nothing_is_an_error() {
    let bench = FabricBench::new().await;
    bench.ovs.flows.set_without_bundles(true);
    let error = bench.fabric.create_remote(&remote(2)).await.unwrap_err();
    assert!(error.to_string().contains("bundles"), "{error}");
    bench.ovs.flows.set_without_bundles(false);
    for set in [
        crate::drive::ovs::openflow::FakeSwitch::set_silent,
        crate::drive::ovs::openflow::FakeSwitch::set_nonsense,
    ] {
        set(&bench.ovs.flows, true);
        let error = retried(&bench).await.unwrap_err();
        assert!(matches!(error, FabricError::Unavailable { .. }), "{error}");
        set(&bench.ovs.flows, false);
    }
    bench.settled().await;
    retried(&bench).await.unwrap();
    bench.crash().await;
}

/// Creates a remote interface after the back-off.
async fn retried(bench: &FabricBench) -> Result<(), FabricError> {
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    bench.fabric.create_remote(&remote(2)).await
}

#[tokio::test(crate = "machinery::tokio")]
async fn hostile_names_stay_inside_one_string_of_the_external_ids() {
    let names = [
        "\", \"options\": [\"map\", []], \"x\": \"",
        "$(reboot)",
        "a\\\"b\u{1}\u{7f}",
        "['uuid','x']",
        "öäü\u{202e}\u{1f600}",
    ];
    let bench = FabricBench::new().await;
    let requests = bench.ovs.database.requests().len();
    let mut locals = Vec::new();
    for (name, low) in names.iter().zip(2..) {
        let Ok(key) = ObjectKey::new(Some("n"), name) else { continue };
        let local = LocalInterface::new(vni(1), [10, 0, 0, low].into()).with_workload(key, Some(24));
        bench.fabric.create_local(&local).await.unwrap();
        locals.push(local);
    }
    assert!(locals.len() >= 4);
    let sent = bench.ovs.database.requests();
    let mut strings = Vec::new();
    sent[requests..].iter().for_each(|request| collect(request, &mut strings));
    for local in &locals {
        let key = local.workload.as_ref().unwrap().attachment.to_string();
        assert!(strings.contains(&key), "one string holds all of it");
        let fragments = strings.iter().filter(|string| string.contains(&key[2..]) && **string != key);
        assert_eq!(fragments.count(), 0, "{key}");
    }
    let ovs = bench.crash().await;
    let bench = FabricBench::on(ovs);
    assert_eq!(bench.fabric.list().await.unwrap().locals.len(), locals.len(), "they are read back");
    assert!(locals.iter().all(|local| Interface::Local(local.clone()).key().vni == vni(1)));
    bench.crash().await;
}

fn collect(json: &serde_json::Value, strings: &mut Vec<String>) {
    match json {
        serde_json::Value::String(text) => strings.push(text.clone()),
        serde_json::Value::Array(items) => items.iter().for_each(|item| collect(item, strings)),
        serde_json::Value::Object(members) => {
            strings.extend(members.keys().cloned());
            members.values().for_each(|value| collect(value, strings));
        }
        _ => {}
    }
}
