//! Malformed and malicious requests: each is refused with its code and reason, and changes nothing.
//!
//! One file per kind of malformed request. A row has the request and the expected answer; some rows
//! are derived from others.

mod bodies;
#[cfg(target_os = "linux")]
mod bombs;
#[cfg(target_os = "linux")]
mod memory;
mod names;
mod patches;
mod paths;
#[cfg(target_os = "linux")]
mod process;
mod protobuf;
mod queries;
mod row;
mod schemas;
mod selectors;
mod systematic;
mod tokens;
#[cfg(target_os = "linux")]
mod yields;

use std::collections::BTreeSet;

use serde_json::json;

use crate::client::widgets;
use row::{ALL, CONFIGS, Row};

#[tokio::test]
async fn malformed_requests_are_refused_and_change_nothing() {
    let (server, client) = widgets().await;
    let widget = json!({
        "apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": "a", "labels": {"x": "y"}}, "spec": {"color": "red", "tags": ["p", "q"]},
    });
    client.post(ALL, &widget).await.fine();
    client.post(CONFIGS, &json!({"metadata": {"name": "a"}, "data": {"k": "v"}})).await.fine();
    let before = row::everything(&client).await;

    let rows = rows();
    let (mut wrong, mut codes) = (Vec::new(), BTreeSet::new());
    for row in &rows {
        let answer = row.send(&client).await;
        codes.insert(answer.code);
        wrong.extend(row.complaint(&answer));
        // A failure of the parser is no refusal, and a refusal does not repeat the whole request.
        let text = answer.body.to_string();
        if text.contains("the reader failed") || text.len() > (64 << 10) + 4 * row.length() {
            wrong.push(format!("{row:?}: {text:.200}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    let distinct: BTreeSet<_> = rows.iter().map(Row::key).collect();
    println!("{} requests, {} distinct", rows.len(), distinct.len());
    assert!(distinct.len() >= 2000, "{} distinct requests", distinct.len());
    assert!(codes.iter().all(|code| (400..500).contains(code)), "{codes:?}");
    assert_eq!(row::everything(&client).await, before, "nothing was changed");
    assert_eq!(client.get("/readyz").await.code, 200);
    server.stop().await;
}

/// The rows of every generator.
fn rows() -> Vec<Row> {
    [
        paths::rows(),
        queries::rows(),
        selectors::rows(),
        tokens::rows(),
        bodies::rows(),
        names::rows(),
        patches::rows(),
        protobuf::rows(),
        schemas::rows(),
        systematic::rows(),
    ]
    .concat()
}
