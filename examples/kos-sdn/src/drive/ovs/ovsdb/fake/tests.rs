//! The simulated database keeps the promises of the real one.

use std::time::Duration;

use machinery::tokio;

use super::*;
use crate::drive::ovs::ovsdb::{
    Condition, Database, Datum, LockState, Mutation, OperationResult, OvsdbTable, RowValues, applied,
};

fn bridge_with(fake: &FakeDatabase, ports: &[&str]) -> Transaction {
    let rows = fake.rows();
    let root = rows.root().unwrap().uuid;
    let mut transaction = Transaction::new().with_next_cfg();
    let references: Vec<_> = ports
        .iter()
        .enumerate()
        .map(|(index, name)| {
            let row = RowValues::new().with("name", *name).with("type", "internal");
            let interface = transaction.insert(OvsdbTable::Interface, format!("i{index}"), row);
            let row = RowValues::new().with("name", *name).with("interfaces", interface);
            transaction.insert(OvsdbTable::Port, format!("p{index}"), row)
        })
        .collect();
    let all = Datum::set(references.iter().flat_map(|one| one.atoms().cloned()));
    let row = RowValues::new().with("name", "kos").with("ports", all);
    let bridge = transaction.insert(OvsdbTable::Bridge, "b", row);
    transaction.mutate(OvsdbTable::Root, root, vec![Mutation::insert("bridges", bridge)]);
    transaction
}

#[tokio::test(crate = "machinery::tokio")]
async fn ports_get_numbers_and_the_configuration_is_applied() {
    let fake = FakeDatabase::new();
    let client = fake.client("kos");
    let committed = client.transact(bridge_with(&fake, &["kos", "a", "b"])).await.unwrap();
    let snapshot = applied(&client, committed.next_cfg.unwrap(), Duration::from_secs(10)).await.unwrap();
    let numbers: Vec<_> =
        ["kos", "a", "b"].map(|name| snapshot.rows.interface(name).unwrap().ofport.unwrap()).into();
    assert_eq!(numbers[0], 65534);
    assert_eq!(numbers[1] + numbers[2], 3);
    assert!(matches!(committed.results[0], OperationResult::Inserted(_)));
}

#[tokio::test(crate = "machinery::tokio")]
async fn rows_without_a_reference_are_deleted() {
    let fake = FakeDatabase::new();
    let client = fake.client("kos");
    client.transact(bridge_with(&fake, &["a"])).await.unwrap();
    let rows = client.snapshot().rows.clone();
    let (bridge, port) = (rows.bridge("kos").unwrap(), rows.port("a").unwrap());
    let mut removal = Transaction::new();
    removal.mutate(OvsdbTable::Bridge, bridge.uuid, vec![Mutation::delete("ports", port.uuid)]);
    client.transact(removal).await.unwrap();
    let rows = client.snapshot().rows.clone();
    assert!(rows.ports.is_empty() && rows.interfaces.is_empty());
}

#[tokio::test(crate = "machinery::tokio")]
async fn unexpected_rows_fail_the_whole_transaction() {
    let fake = FakeDatabase::new();
    let client = fake.client("kos");
    client.transact(bridge_with(&fake, &["a"])).await.unwrap();
    let bridge = client.snapshot().rows.bridge("kos").unwrap().uuid;
    let mut transaction = Transaction::new();
    transaction.update(OvsdbTable::Bridge, bridge, RowValues::new().with("fail_mode", "secure"));
    transaction.expect_none(OvsdbTable::Port, Condition::equal("name", "a"));
    let result = client.transact(transaction).await;
    assert_eq!(result, Err(TransactError::RowsChanged { operation: 1 }));
    assert_eq!(client.snapshot().rows.bridge("kos").unwrap().fail_mode, None);
}

#[tokio::test(crate = "machinery::tokio")]
async fn only_the_lock_holder_writes() {
    let fake = FakeDatabase::new();
    let (first, second) = (fake.client("kos"), fake.client("kos"));
    let result = second.transact(bridge_with(&fake, &["a"])).await;
    assert!(matches!(result, Err(TransactError::LockNotOwned { .. })), "{result:?}");
    assert_eq!(second.snapshot().lock, LockState::Waiting);
    fake.steal_lock("kos");
    assert_eq!(first.snapshot().lock, LockState::Waiting);
    fake.release_lock("kos");
    assert_eq!(first.snapshot().lock, LockState::Owned);
    drop(first);
    second.transact(bridge_with(&fake, &["a"])).await.unwrap();
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_lost_reply_leaves_the_outcome_unknown() {
    for committed in [false, true] {
        let fake = FakeDatabase::new();
        let client = fake.client("kos");
        fake.inject(FakeFault::LoseReply { committed });
        let result = client.transact(bridge_with(&fake, &["a"])).await;
        assert!(matches!(result, Err(TransactError::OutcomeUnknown { .. })), "{result:?}");
        assert_eq!(client.snapshot().rows.bridge("kos").is_some(), committed);
        assert!(client.snapshot().is_writable());
    }
}

#[tokio::test(crate = "machinery::tokio")]
async fn rows_survive_a_restart_but_not_the_loss_of_the_database() {
    let fake = FakeDatabase::new();
    let client = fake.client("kos");
    client.transact(bridge_with(&fake, &["a"])).await.unwrap();
    let before = client.snapshot();
    fake.stop();
    assert_eq!(client.snapshot().rows, before.rows);
    let result = client.transact(Transaction::new()).await;
    assert!(matches!(result, Err(TransactError::Disconnected { .. })), "{result:?}");
    fake.start();
    assert_eq!(client.snapshot().rows, before.rows);
    assert_eq!(client.snapshot().epoch, before.epoch + 1);
    fake.lose_data();
    let after = client.snapshot();
    assert_eq!(after.epoch, before.epoch + 2);
    assert!(after.rows.bridges.is_empty() && after.is_writable());
    assert_ne!(after.rows.root().unwrap().uuid, before.rows.root().unwrap().uuid);
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_second_equal_tunnel_has_an_error() {
    let fake = FakeDatabase::new();
    let client = fake.client("kos");
    client.transact(bridge_with(&fake, &["kos"])).await.unwrap();
    let bridge = client.snapshot().rows.bridge("kos").unwrap().uuid;
    for name in ["v1", "v2"] {
        let mut transaction = Transaction::new();
        let options = Datum::map([("key", "flow"), ("remote_ip", "flow")]);
        let row = RowValues::new().with("name", name).with("type", "vxlan").with("options", options);
        let interface = transaction.insert(OvsdbTable::Interface, "i", row);
        let row = RowValues::new().with("name", name).with("interfaces", interface);
        let port = transaction.insert(OvsdbTable::Port, "p", row);
        transaction.mutate(OvsdbTable::Bridge, bridge, vec![Mutation::insert("ports", port)]);
        client.transact(transaction).await.unwrap();
    }
    let rows = client.snapshot().rows.clone();
    assert!(rows.interface("v1").unwrap().ofport.unwrap() > 0);
    let second = rows.interface("v2").unwrap();
    assert_eq!(second.ofport, Some(-1));
    assert!(second.error.is_some());
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_stopped_switch_applies_nothing() {
    let fake = FakeDatabase::new();
    let client = fake.client("kos");
    fake.stop_switch();
    let committed = client.transact(bridge_with(&fake, &["a"])).await.unwrap();
    let next_cfg = committed.next_cfg.unwrap();
    let result = applied(&client, next_cfg, Duration::from_millis(1)).await;
    assert!(result.is_err());
    fake.start_switch();
    applied(&client, next_cfg, Duration::from_secs(10)).await.unwrap();
}
