//! Servers that answer with nonsense, late, in pieces, twice, or too much.

use std::time::Duration;

use machinery::tokio;
use serde_json::{Value, json};

use super::server::{Scripted, ServerEnd, bridges, row_id, schema_json, transaction_id};
use crate::drive::ovs::ovsdb::{Database, TransactError};

/// Checks that the client names an error, and then works with a correct server.
async fn recovers(scripted: &Scripted, server: ServerEnd, error: &str) {
    scripted.until_disconnected(error).await;
    drop(server);
    scripted.accept_and_serve().await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn nonsense_is_a_named_error_and_a_reconnect() {
    for text in ["nonsense", "[]", "{\"id\":1}", "{\"id\":99,\"result\":1,\"error\":null}", "{]"] {
        let scripted = Scripted::start();
        let mut server = scripted.accept().await;
        for method in ["get_schema", "monitor_cond_since", "lock"] {
            server.request(method).await;
        }
        server.send_text(text);
        server.flush().await;
        recovers(&scripted, server, "sent").await;
    }
}

#[tokio::test(crate = "machinery::tokio")]
async fn malformed_rows_leave_the_cache_unchanged() {
    let bridge = row_id(0).to_string();
    let updates = [
        json!({"Bridge": {&bridge: {"modify": {"fail_mode": "secure"}}, "x": {"delete": null}}}),
        json!({"Bridge": {&bridge: {"modify": {"fail_mode": 3}}}}),
        json!({"Bridge": {&bridge: {"modify": {"nonsense": 3}}}}),
        json!({"Bridge": {&bridge: {"modify": {"ports": ["map", []]}}}}),
        json!({"Bridge": {&bridge: {"modify": {"fail_mode": "secure"}, "delete": null}}}),
        json!({"Bridge": {&bridge: {"insert": {"name": "twice"}}}}),
        json!({"Bridge": {row_id(7).to_string(): {"delete": null}, &bridge: {"delete": null}}}),
        json!({"Nonsense": {}}),
        json!([]),
    ];
    for update in updates {
        let scripted = Scripted::start();
        let mut server = scripted.accept_and_serve().await;
        let before = scripted.client.snapshot().rows.clone();
        server.notify("update3", json!(["kos", transaction_id(2), update]));
        server.flush().await;
        scripted.until_disconnected("unexpected message").await;
        assert_eq!(scripted.client.snapshot().rows, before, "{update}");
        drop(server);
        let mut server = scripted.accept().await;
        server.request("get_schema").await;
        let (_, params) = server.request("monitor_cond_since").await;
        assert_eq!(params[3], json!(transaction_id(0)), "all rows are requested again");
    }
}

#[tokio::test(crate = "machinery::tokio")]
async fn messages_may_arrive_in_pieces() {
    let scripted = Scripted::start();
    let mut server = scripted.accept().await;
    let (schema, _) = server.request("get_schema").await;
    let (monitor, _) = server.request("monitor_cond_since").await;
    let rows = json!([false, transaction_id(1), bridges(&["kos"])]);
    let replies = [(schema, schema_json(None)), (monitor, rows)];
    let text: String =
        replies.iter().map(|(id, it)| json!({"id": id, "result": it, "error": null}).to_string()).collect();
    server.request("lock").await;
    for piece in text.as_bytes().chunks(300) {
        server.send_text(std::str::from_utf8(piece).unwrap());
        server.flush().await;
    }
    scripted.until(|snapshot| snapshot.sessions == 1).await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_second_reply_to_a_transaction_is_an_error() {
    let scripted = Scripted::start();
    let mut server = scripted.accept_and_serve().await;
    let first = scripted.transact();
    let (id, _) = server.request("transact").await;
    let second = scripted.transact();
    server.request("transact").await;
    let result = json!([{}, {"uuid": ["uuid", row_id(1).to_string()]}, {"count": 1}, {"count": 1},
        {"rows": [{"next_cfg": 8}]}]);
    server.reply(id.clone(), &result);
    server.reply(id, &result);
    server.flush().await;
    assert!(first.await.unwrap().is_ok());
    let second = second.await.unwrap();
    assert!(matches!(second, Err(TransactError::OutcomeUnknown { .. })), "{second:?}");
    recovers(&scripted, server, "a reply to no request").await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_notification_sent_twice_is_an_error() {
    let scripted = Scripted::start();
    let mut server = scripted.accept_and_serve().await;
    let modify = json!({"Bridge": {row_id(0).to_string(): {"modify": {"protocols": "OpenFlow15"}}}});
    for _ in 0..2 {
        server.notify("update3", json!(["kos", transaction_id(2), modify]));
    }
    server.flush().await;
    recovers(&scripted, server, "notified twice").await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_message_above_the_limit_is_a_named_error() {
    let scripted = Scripted::with(|config| config.message_bytes = 20_000);
    let mut server = scripted.accept().await;
    for method in ["get_schema", "monitor_cond_since", "lock"] {
        server.request(method).await;
    }
    server.send_text(&json!({"id": 1, "result": "x".repeat(20_000), "error": null}).to_string());
    server.flush().await;
    recovers(&scripted, server, "more than 20000 bytes").await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn more_rows_than_the_limit_are_a_named_error() {
    let scripted = Scripted::with(|config| config.rows = 2);
    let mut server = scripted.accept().await;
    server.answer_start(&json!([false, transaction_id(1), bridges(&["a", "b", "c"])])).await;
    recovers(&scripted, server, "more than 2 rows").await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_silent_server_is_disconnected() {
    let scripted = Scripted::with(|config| {
        config.probe_after = Duration::from_millis(100);
        config.silence = Duration::from_secs(2);
    });
    let mut server = scripted.accept_and_serve().await;
    server.request("echo").await;
    recovers(&scripted, server, "was silent").await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_late_reply_leaves_the_outcome_unknown() {
    let scripted = Scripted::with(|config| config.reply = Duration::from_secs(2));
    let mut server = scripted.accept_and_serve().await;
    let transaction = scripted.transact();
    server.request("transact").await;
    let result = transaction.await.unwrap();
    assert!(matches!(result, Err(TransactError::OutcomeUnknown { .. })), "{result:?}");
    recovers(&scripted, server, "did not answer").await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_schema_without_a_column_is_a_named_error() {
    for (missing, error) in
        [("fail_mode", "column fail_mode in table Bridge"), ("ofport", "in table Interface")]
    {
        let scripted = Scripted::start();
        let mut server = scripted.accept().await;
        let (schema, _) = server.request("get_schema").await;
        server.reply(schema, &schema_json(Some(missing)));
        server.request("monitor_cond_since").await;
        server.request("lock").await;
        server.flush().await;
        recovers(&scripted, server, error).await;
    }
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_server_without_the_monitor_is_a_named_error() {
    let scripted = Scripted::start();
    let mut server = scripted.accept().await;
    let (schema, _) = server.request("get_schema").await;
    server.reply(schema, &schema_json(None));
    let (monitor, _) = server.request("monitor_cond_since").await;
    server.send_text(&json!({"id": monitor, "result": Value::Null, "error": "unknown method"}).to_string());
    server.request("lock").await;
    server.flush().await;
    recovers(&scripted, server, "refused monitor_cond_since: unknown method").await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_path_too_long_for_a_socket_is_a_named_error() {
    let scripted = Scripted::with(|config| config.socket = format!("/tmp/{}", "x".repeat(103)).into());
    scripted.until_disconnected("a unix socket permits 107").await;
    let scripted = Scripted::with(|config| config.socket = format!("/tmp/{}", "x".repeat(102)).into());
    scripted.until_disconnected("is the daemon running").await;
}
