//! Namespaces in deletion, and their status.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::APPLY;
use crate::client::{Client, widgets};
use crate::controllers::gone;

const NAMESPACES: &str = "/api/v1/namespaces";

/// Waits until a condition of the namespace has this status, and returns the condition.
async fn condition(client: &Client, path: &str, of: &str, status: &str) -> Value {
    for _ in 0..1000 {
        let namespace = client.get(path).await.fine();
        let all = namespace["status"]["conditions"].as_array().cloned().unwrap_or_default();
        if let Some(found) = all.into_iter().find(|one| one["type"] == of && one["status"] == status) {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{of} is never {status}")
}

#[tokio::test]
async fn pods_are_deleted_before_all_else_when_a_namespace_is_deleted() {
    let (_server, client) = widgets().await;
    let path = format!("{NAMESPACES}/doomed");
    client.post(NAMESPACES, &json!({"metadata": {"name": "doomed"}})).await.fine();
    let finalizers = json!({"name": "p", "finalizers": ["e2e.example.com/finalizer"]});
    let containers = json!([{"name": "c", "image": "i"}]);
    let pod = json!({"metadata": finalizers, "spec": {"containers": containers}});
    client.post(&format!("{path}/pods"), &pod).await.fine();
    client
        .post(&format!("{path}/configmaps"), &json!({"metadata": {"name": "m"}, "data": {"k": "v"}}))
        .await
        .fine();
    client.delete(&path).await.fine();
    let failure = condition(&client, &path, "NamespaceDeletionContentFailure", "False").await;
    assert_eq!(failure["reason"], "ContentDeleted");
    let left = condition(&client, &path, "NamespaceContentRemaining", "True").await;
    assert_eq!(left["message"], "Some resources are remaining: pods. has 1 resource instances");
    let held = condition(&client, &path, "NamespaceFinalizersRemaining", "True").await;
    assert_eq!(
        held["message"],
        "Some content in the namespace has finalizers remaining: e2e.example.com/finalizer in 1 resource instances"
    );
    let pod = client.get(&format!("{path}/pods/p")).await.fine();
    assert!(pod["metadata"]["deletionTimestamp"].is_string(), "{pod}");
    client.get(&format!("{path}/configmaps/m")).await.fine();
    client.merge(&format!("{path}/pods/p"), &json!({"metadata": {"finalizers": null}})).await.fine();
    gone(&client, &format!("{path}/configmaps/m")).await;
    gone(&client, &path).await;
}

#[tokio::test]
async fn the_status_of_a_namespace_is_written_by_put_patch_and_apply() {
    let (_server, client) = widgets().await;
    client.post(NAMESPACES, &json!({"metadata": {"name": "n"}})).await.fine();
    let path = format!("{NAMESPACES}/n/status");
    let condition = |of: &str| json!({"type": of, "status": "True", "reason": "E2E", "message": of});
    let types = |namespace: &Value| -> Vec<String> {
        let all = namespace["status"]["conditions"].as_array().cloned().unwrap_or_default();
        all.iter().map(|one| one["type"].as_str().unwrap().to_owned()).collect()
    };
    let patched =
        client.merge(&path, &json!({"status": {"conditions": [condition("Patched")]}})).await.fine();
    assert_eq!((types(&patched), &patched["status"]["phase"]), (vec!["Patched".into()], &json!("Active")));
    let mut put = client.get(&path).await.fine();
    put["status"]["conditions"].as_array_mut().unwrap().push(condition("Put"));
    put["spec"] = json!({"finalizers": []});
    let put = client.put(&path, &put).await.fine();
    assert_eq!(types(&put), ["Patched", "Put"]);
    assert_eq!(put["spec"]["finalizers"], json!(["kubernetes"]));
    let applied = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}, "status": {"conditions": [condition("Applied")]}});
    let headers = [("content-type", APPLY)];
    let applied = client
        .ask(Method::PATCH, &format!("{path}?fieldManager=m"), &headers, &applied.to_string())
        .await
        .fine();
    assert_eq!(types(&applied), ["Patched", "Put", "Applied"]);
    let main = client.merge(&format!("{NAMESPACES}/n"), &json!({"status": {"conditions": []}})).await.fine();
    assert_eq!(types(&main).len(), 3, "the status changes through its subresource only");
}
