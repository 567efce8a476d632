//! Rows, epochs, the lock and probes.

use std::time::Duration;

use machinery::tokio;
use serde_json::json;

use super::server::{Scripted, bridges, row_id, transaction_id};
use crate::drive::ovs::json_rpc::RpcMessage;
use crate::drive::ovs::ovsdb::{Database, DatabaseSnapshot, LockState, TransactError};

#[tokio::test(crate = "machinery::tokio")]
async fn notified_changes_are_in_the_rows() {
    let scripted = Scripted::start();
    let mut server = scripted.accept_and_serve().await;
    let bridge = row_id(0).to_string();
    let steps = [
        json!({"modify": {"protocols": "OpenFlow15", "external_ids": ["map", [["a", "1"], ["b", "2"]]]}}),
        json!({"modify": {"fail_mode": "secure", "external_ids": ["map", [["a", "1"], ["b", "3"]]]}}),
    ];
    for (number, change) in steps.into_iter().enumerate() {
        let last = transaction_id(10 + number as u128);
        server.notify("update3", json!(["kos", last, {"Bridge": {&bridge: change}}]));
        server.flush().await;
    }
    let changed = |snapshot: &DatabaseSnapshot| {
        snapshot.rows.bridge("kos").is_some_and(|bridge| bridge.fail_mode.is_some())
    };
    let snapshot = scripted.until(changed).await;
    let row = snapshot.rows.bridge("kos").unwrap();
    assert_eq!(row.external_ids, [("b".to_owned(), "3".to_owned())].into());
    assert_eq!(row.protocols, ["OpenFlow15".to_owned()].into());
    server.notify("update3", json!(["kos", transaction_id(20), {"Bridge": {&bridge: {"delete": null}}}]));
    server.flush().await;
    scripted.until(|snapshot| snapshot.rows.bridges.is_empty()).await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_reconnect_continues_after_the_last_transaction() {
    let scripted = Scripted::start();
    drop(scripted.accept_and_serve().await);
    let before = scripted.client.snapshot();
    let mut server = scripted.accept().await;
    let (schema, _) = server.request("get_schema").await;
    server.reply(schema, &super::server::schema_json(None));
    let (monitor, params) = server.request("monitor_cond_since").await;
    assert_eq!(params[3], json!(transaction_id(1)));
    let added = json!({"Bridge": {row_id(1).to_string(): {"insert": {"name": "other"}}}});
    server.request("lock").await;
    server.reply(monitor, &json!([true, transaction_id(2), added]));
    server.flush().await;
    let snapshot = scripted.until(|snapshot| snapshot.sessions == 2).await;
    assert_eq!(snapshot.epoch, before.epoch);
    assert_eq!(snapshot.rows.bridges.len(), 2);
}

#[tokio::test(crate = "machinery::tokio")]
async fn an_unknown_last_transaction_replaces_the_rows() {
    let scripted = Scripted::start();
    drop(scripted.accept_and_serve().await);
    let mut server = scripted.accept().await;
    server.answer_start(&json!([false, transaction_id(9), bridges(&["new"])])).await;
    let snapshot = scripted.until(|snapshot| snapshot.sessions == 2).await;
    assert_eq!(snapshot.epoch, 2);
    assert!(snapshot.rows.bridge("kos").is_none() && snapshot.rows.bridge("new").is_some());
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_stolen_lock_prevents_writing() {
    let scripted = Scripted::start();
    let mut server = scripted.accept_and_serve().await;
    server.notify("stolen", json!(["kos"]));
    server.flush().await;
    scripted.until(|snapshot| snapshot.lock == LockState::Waiting).await;
    let result = scripted.transact().await.unwrap();
    assert_eq!(result, Err(TransactError::LockNotOwned { lock: "kos".to_owned() }));
    server.notify("locked", json!(["kos"]));
    server.flush().await;
    scripted.until(DatabaseSnapshot::is_writable).await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn probes_of_the_server_are_answered() {
    let scripted = Scripted::start();
    let mut server = scripted.accept_and_serve().await;
    let id = json!("echo");
    let echo = RpcMessage::Request { id: id.clone(), method: "echo".to_owned(), params: vec![json!(1)] };
    server.send(&echo);
    assert_eq!(server.receive().await, RpcMessage::Reply { id, result: Ok(json!([1])) });
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_quiet_server_is_probed_and_kept() {
    let scripted = Scripted::with(|config| config.probe_after = Duration::from_millis(50));
    let mut server = scripted.accept_and_serve().await;
    for _ in 0..3 {
        let (id, _) = server.request("echo").await;
        server.reply(id, &json!([]));
    }
    assert_eq!(scripted.client.snapshot().sessions, 1);
}
