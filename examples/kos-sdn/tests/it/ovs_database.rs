//! The client of ovsdb-server against the genuine one, and a genuine ovs-vswitchd.

use std::time::Duration;

use kos::drive::ovs::control::{self, Control, ControlSocket};
use kos::drive::ovs::ovsdb::{
    ConnectionState, Database, DatabaseSnapshot, Datum, LockState, Mutation, OvsdbTable, RowUuid, RowValues,
    TransactError, Transaction, applied,
};
use machinery::tokio;

use crate::harness::DEADLINE;
use crate::ovs_daemons::OvsDaemons;

#[tokio::test(crate = "machinery::tokio")]
async fn genuine_database_commits_and_notifies_transactions() {
    let Some(daemons) = OvsDaemons::start() else { return };
    let client = daemons.client();
    client.initialise().await;
    assert_eq!(client.add_bridge("kos", &["kos", "a", "b"]).await, Ok(Some(1)));
    // The notification precedes the reply, so that the rows are there.
    let rows = client.database.snapshot().rows.clone();
    let bridge = rows.bridge("kos").unwrap();
    assert_eq!(bridge.fail_mode.as_deref(), Some("secure"));
    assert_eq!(rows.ports_of(bridge).count(), 3);
    let port = rows.port("a").unwrap();
    assert_eq!(port.external_ids["kos-text"], "\"quotes\\ and \u{1}\u{7f} é 😀\n");
    assert_eq!(rows.interfaces_of(port).next().unwrap().kind, "internal");

    let again = client.add_bridge("kos", &["kos"]).await;
    assert_eq!(again, Err(TransactError::RowsChanged { operation: 0 }));
    let mut transaction = Transaction::new();
    transaction.update(OvsdbTable::Bridge, bridge.uuid, RowValues::new().with("fail_mode", "nonsense"));
    let refused = client.database.transact(transaction).await;
    let expected = "constraint violation";
    assert!(
        matches!(&refused, Err(TransactError::Refused { operation: Some(0), error, .. }) if error == expected),
        "{refused:?}"
    );
    let mut transaction = Transaction::new();
    let missing = RowUuid::from_bits(7);
    transaction.mutate(OvsdbTable::Bridge, bridge.uuid, vec![Mutation::insert("ports", missing)]);
    let refused = client.database.transact(transaction).await;
    assert!(matches!(&refused, Err(TransactError::Refused { operation: None, .. })), "{refused:?}");

    let mut transaction = Transaction::new();
    transaction.expect_row(OvsdbTable::Bridge, bridge.uuid, RowValues::new().with("fail_mode", "secure"));
    transaction.mutate(OvsdbTable::Bridge, bridge.uuid, vec![Mutation::delete("ports", port.uuid)]);
    transaction.mutate(
        OvsdbTable::Port,
        port.uuid,
        vec![Mutation::delete("external_ids", Datum::set(["kos-text"]))],
    );
    client.database.transact(transaction).await.unwrap();
    let rows = client.database.snapshot().rows.clone();
    assert!(rows.port("a").is_none() && rows.interface("a").is_none());
    assert_eq!((rows.ports.len(), rows.interfaces.len()), (2, 2));
}

#[tokio::test(crate = "machinery::tokio")]
async fn rows_follow_a_genuine_database_across_restarts() {
    let Some(mut daemons) = OvsDaemons::start() else { return };
    let writer = daemons.client();
    writer.initialise().await;
    let reader = daemons.client();
    writer.add_bridge("kos", &["kos", "a"]).await.unwrap();
    reader.until(|snapshot| snapshot.rows.ports.len() == 2).await;
    for session in 2..4 {
        daemons.kill_server(); // SIGKILL
        for client in [&writer, &reader] {
            let lost = |it: &DatabaseSnapshot| matches!(it.connection, ConnectionState::Disconnected { .. });
            let snapshot = client.until(lost).await;
            assert!(snapshot.rows.bridge("kos").is_some());
            let result = client.database.transact(Transaction::new()).await;
            assert!(matches!(result, Err(TransactError::Disconnected { .. })), "{result:?}");
        }
        daemons.start_server();
        for client in [&writer, &reader] {
            let again =
                |it: &DatabaseSnapshot| it.sessions == session && it.connection == ConnectionState::Connected;
            let snapshot = client.until(again).await;
            assert_eq!(snapshot.rows.ports.len(), 2);
        }
    }
    daemons.kill_server();
    std::fs::remove_file(daemons.path("conf.db")).unwrap();
    daemons.create_database().unwrap();
    daemons.start_server();
    let emptied =
        |it: &DatabaseSnapshot| it.connection == ConnectionState::Connected && it.rows.roots.is_empty();
    let snapshot = writer.until(emptied).await;
    assert!(snapshot.rows.bridges.is_empty() && snapshot.rows.interfaces.is_empty());
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_second_client_of_a_genuine_database_waits_for_the_lock() {
    let Some(daemons) = OvsDaemons::start() else { return };
    let first = daemons.client();
    first.initialise().await;
    let second = daemons.client();
    second.until(|snapshot| snapshot.lock == LockState::Waiting).await;
    let result = second.add_bridge("kos", &["kos"]).await;
    assert_eq!(result, Err(TransactError::LockNotOwned { lock: "kos_test".to_owned() }));
    drop(first);
    second.until(DatabaseSnapshot::is_writable).await;
    second.add_bridge("kos", &["kos"]).await.unwrap();
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_genuine_switch_applies_the_configuration() {
    let Some(mut daemons) = OvsDaemons::start() else { return };
    let client = daemons.client();
    client.initialise().await;
    let next_cfg = client.add_bridge("kos", &["kos", "a", "b"]).await.unwrap().unwrap();
    let late = applied(&*client.database, next_cfg, Duration::from_millis(10)).await;
    assert!(late.is_err(), "no switch runs: {late:?}");
    daemons.start_switch();
    let snapshot = applied(&*client.database, next_cfg, DEADLINE).await.unwrap();
    let numbers: Vec<_> = ["kos", "a", "b"].map(|name| snapshot.rows.interface(name).unwrap().ofport).into();
    assert_eq!(numbers[0], Some(65534));
    assert!(numbers[1..].iter().all(|number| number.is_some_and(|number| number > 0)), "{numbers:?}");

    let control = ControlSocket::new(daemons.run_dir(), DEADLINE);
    let version = control::version(&control).await.unwrap();
    assert!(version.contains("ovs-vswitchd"), "{version}");
    let traced = control::trace(&control, "kos", "in_port=a").await.unwrap();
    assert!(traced.contains("Datapath actions: drop"), "{traced}");
    let address = std::net::Ipv4Addr::new(192, 0, 2, 7);
    control::set_neighbour(&control, "kos", address, "02:00:00:00:00:07").await.unwrap();
    let shown = control.call("tnl/neigh/show", &[]).await.unwrap();
    assert!(shown.contains("192.0.2.7") && shown.contains("02:00:00:00:00:07"), "{shown}");
    let refused = control::trace(&control, "missing", "in_port=1").await.unwrap_err();
    assert!(matches!(refused, control::ControlError::Refused { .. }), "{refused:?}");
}
