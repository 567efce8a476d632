//! Requirements of such clients on the wire, in short tests.

use serde_json::json;

use crate::client::widgets;

const ALL: &str = "/apis/example.com/v1/namespaces/default/widgets";

/// client-go can compare its watch-lists with lists, and fails if they differ.
#[tokio::test]
async fn items_of_built_in_lists_omit_type_metadata() {
    let (_server, client) = widgets().await;
    client.post("/api/v1/namespaces/default/configmaps", &json!({"metadata": {"name": "c"}})).await.fine();
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}});
    client.post(ALL, &widget).await.fine();
    for (path, expected) in [
        ("/api/v1/namespaces/default/configmaps", json!([null, null])),
        ("/api/v1/namespaces/default/configmaps?pretty=1", json!([null, null])),
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json!([null, null])),
        (ALL, json!(["example.com/v1", "Widget"])),
    ] {
        let item = &client.get(path).await.fine()["items"][0];
        assert_eq!(json!([item["apiVersion"], item["kind"]]), expected, "{path}");
        assert!(item["metadata"]["resourceVersion"].is_string(), "{path}");
    }
}

/// client-go treats an early end of a watch as an error, and relists.
#[tokio::test]
async fn a_watch_of_a_stopping_server_ends_with_a_retryable_error() {
    let (server, client) = widgets().await;
    server.stop().await;
    let answer = client.get(&format!("{ALL}?watch=1")).await;
    assert_eq!(answer.refused().0, 429, "{answer:#?}");
    assert_eq!(answer.body["details"]["retryAfterSeconds"], 1);
}
