//! Results of transactions.

use machinery::tokio;
use serde_json::{Value, json};

use super::server::{Scripted, row_id};
use crate::drive::ovs::ovsdb::{
    Database, LockState, OperationResult, OvsdbTable, RowValues, TransactError, Transaction,
};

/// Answers one transaction, and returns its result.
async fn answered(result: Value) -> (Result<super::super::Committed, TransactError>, Vec<Value>, Scripted) {
    let scripted = Scripted::start();
    let mut server = scripted.accept_and_serve().await;
    let transaction = scripted.transact();
    let (id, params) = server.request("transact").await;
    server.reply(id, &result);
    server.flush().await;
    (transaction.await.unwrap(), params, scripted)
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_transaction_asserts_the_lock_and_returns_results() {
    let uuid = row_id(5);
    let result = json!([{}, {"uuid": ["uuid", uuid.to_string()]}, {"count": 1}, {"count": 1},
        {"rows": [{"next_cfg": 8}]}]);
    let (result, params, _) = answered(result).await;
    let committed = result.unwrap();
    assert_eq!(committed.results, [OperationResult::Inserted(uuid), OperationResult::Count(1)]);
    assert_eq!(committed.next_cfg, Some(8));
    assert_eq!(params[0], json!("Open_vSwitch"));
    assert_eq!(params[1], json!({"op": "assert", "lock": "kos"}));
    assert_eq!(params.len(), 6);
}

#[tokio::test(crate = "machinery::tokio")]
async fn an_error_inside_a_result_names_its_operation() {
    let error = json!({"error": "constraint violation", "details": "no"});
    let refused = |operation| {
        let (error, details) = ("constraint violation".to_owned(), "no".to_owned());
        Err(TransactError::Refused { operation, error, details })
    };
    assert_eq!(answered(json!([{}, {}, error, null, null])).await.0, refused(Some(1)));
    assert_eq!(answered(json!([{}, {}, {}, {}, {}, error])).await.0, refused(None));
    let late = json!([{}, {"error": "timed out", "details": "x"}, null, null, null]);
    assert_eq!(answered(late).await.0, Err(TransactError::RowsChanged { operation: 0 }));
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_refused_assertion_reports_the_lock() {
    let lost = json!([{"error": "not owner", "details": "x"}, null, null, null, null]);
    let (result, _, scripted) = answered(lost).await;
    assert_eq!(result, Err(TransactError::LockNotOwned { lock: "kos".to_owned() }));
    scripted.until(|snapshot| snapshot.lock == LockState::Waiting).await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_malformed_result_leaves_the_outcome_unknown() {
    let results = [
        json!({}),
        json!([]),
        json!([{}, {"count": 1}, {"count": 1}, {}, {"rows": [{"next_cfg": 8}]}]),
        json!([{}, {"uuid": 3}, {"count": 1}, {}, {"rows": [{"next_cfg": 8}]}]),
        json!([{}, {"uuid": ["uuid", row_id(1).to_string()]}, {"count": -1}, {}, {"rows": []}]),
    ];
    for result in results {
        let answer = answered(result.clone()).await.0;
        assert!(matches!(answer, Err(TransactError::OutcomeUnknown { .. })), "{result}: {answer:?}");
    }
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_broken_connection_leaves_the_outcome_unknown() {
    let scripted = Scripted::start();
    let mut server = scripted.accept_and_serve().await;
    let transaction = scripted.transact();
    server.request("transact").await;
    drop(server);
    let result = transaction.await.unwrap();
    assert!(matches!(result, Err(TransactError::OutcomeUnknown { .. })), "{result:?}");
    let result = scripted.transact().await.unwrap();
    assert!(matches!(result, Err(TransactError::Disconnected { .. })), "{result:?}");
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_transaction_above_the_limit_is_not_sent() {
    let scripted = Scripted::with(|config| config.transaction_bytes = 1000);
    let mut server = scripted.accept_and_serve().await;
    let mut transaction = Transaction::new();
    transaction.insert(OvsdbTable::Bridge, "b", RowValues::new().with("name", "x".repeat(1000)));
    let result = scripted.client.transact(transaction).await;
    assert!(matches!(result, Err(TransactError::TooBig { limit: 1000, .. })), "{result:?}");
    server.expect_nothing().await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_text_with_nul_is_not_sent() {
    let scripted = Scripted::start();
    let mut server = scripted.accept_and_serve().await;
    let mut transaction = Transaction::new();
    transaction.insert(OvsdbTable::Bridge, "b", RowValues::new().with("name", "a\0b"));
    let result = scripted.client.transact(transaction).await;
    assert_eq!(result, Err(TransactError::NulInText));
    server.expect_nothing().await;
}
