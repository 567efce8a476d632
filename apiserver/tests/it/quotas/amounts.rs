//! Quotas of resources that pods and services request, and quotas with scopes.

use serde_json::{Value, json};

use super::tools::{PODS, QUOTA, QUOTAS, quota, says, server};
use crate::client::Client;

const SERVICES: &str = "/api/v1/namespaces/default/services";

/// Returns a pod whose container has these requests and limits.
fn pod(name: &str, requests: Value, limits: Value) -> Value {
    let resources = json!({"requests": requests, "limits": limits});
    let container = json!({"name": "c", "image": "pause", "resources": resources});
    json!({"metadata": {"name": name}, "spec": {"containers": [container]}})
}

fn service(name: &str, kind: &str) -> Value {
    let spec = json!({"type": kind, "ports": [{"port": 80}]});
    json!({"metadata": {"name": name}, "spec": spec})
}

async fn used(client: &Client, expected: Value) {
    let hard = client.get(QUOTA).await.fine()["spec"]["hard"].clone();
    says(client, QUOTA, json!({"hard": hard, "used": expected})).await;
}

/// A quota of CPU and memory was accepted with a warning, and never enforced.
#[tokio::test]
async fn the_resources_that_pods_request_are_limited() {
    let (_server, _, client) = server().await;
    let hard = json!({"cpu": "1", "memory": "500Mi", "pods": "5", "requests.example.com/dongle": "3"});
    client.post(QUOTAS, &quota(&hard)).await.fine();
    let none = json!({"cpu": "0", "memory": "0", "pods": "0", "requests.example.com/dongle": "0"});
    used(&client, none.clone()).await;
    let dongles = json!({"example.com/dongle": "2"});
    let requests = json!({"cpu": "500m", "memory": "252Mi", "example.com/dongle": "2"});
    client.post(PODS, &pod("a", requests.clone(), dongles.clone())).await.fine();
    let one = json!({"cpu": "500m", "memory": "252Mi", "pods": "1", "requests.example.com/dongle": "2"});
    assert_eq!(client.get(QUOTA).await.fine()["status"]["used"], one, "when the creation is answered");
    let refused = client.post(PODS, &pod("b", json!({"cpu": "600m", "memory": "100Mi"}), json!({}))).await;
    let message =
        r#"pods "b" is forbidden: exceeded quota: q, requested: cpu=600m, used: cpu=500m, limited: cpu=1"#;
    assert_eq!(refused.refused(), (403, "Forbidden", message));
    let refused = client.post(PODS, &pod("b", requests, dongles)).await;
    let message = r#"pods "b" is forbidden: exceeded quota: q, requested: memory=252Mi,requests.example.com/dongle=2, used: memory=252Mi,requests.example.com/dongle=2, limited: memory=500Mi,requests.example.com/dongle=3"#;
    assert_eq!(refused.refused(), (403, "Forbidden", message));
    let less = json!({"spec": {"containers": [{"name": "c", "image": "pause", "resources": {"requests": {"cpu": "1m", "memory": "1"}}}]}});
    let refused = client.merge(&format!("{PODS}/a"), &less).await;
    assert!(
        refused.refused().2.starts_with(r#"Pod "a" is invalid: spec: Forbidden: pod updates"#),
        "{refused:#?}"
    );
    used(&client, one).await;
    client.delete(&format!("{PODS}/a?gracePeriodSeconds=0")).await.fine();
    used(&client, none).await;
}

#[tokio::test]
async fn a_pod_under_a_quota_of_cpu_must_specify_it() {
    let (_server, _, client) = server().await;
    client.post(QUOTAS, &quota(&json!({"cpu": "1", "limits.memory": "1Gi", "pods": "5"}))).await.fine();
    let refused = client.post(PODS, &pod("a", json!({}), json!({}))).await;
    let message = r#"pods "a" is forbidden: failed quota: q: must specify cpu for: c; limits.memory for: c"#;
    assert_eq!(refused.refused(), (403, "Forbidden", message));
    client.post(PODS, &pod("a", json!({"cpu": "1"}), json!({"memory": "1Gi"}))).await.fine();
}

#[tokio::test]
async fn a_quota_with_scopes_counts_only_the_pods_that_they_select() {
    let (_server, _, client) = server().await;
    let mut scoped = quota(&json!({"pods": "1"}));
    scoped["spec"]["scopes"] = json!(["BestEffort"]);
    client.post(QUOTAS, &scoped).await.fine();
    used(&client, json!({"pods": "0"})).await;
    let requests = json!({"cpu": "500m"});
    client.post(PODS, &pod("burstable", requests.clone(), json!({}))).await.fine();
    used(&client, json!({"pods": "0"})).await;
    client.post(PODS, &pod("a", json!({}), json!({}))).await.fine();
    used(&client, json!({"pods": "1"})).await;
    let refused = client.post(PODS, &pod("b", json!({}), json!({}))).await;
    let message =
        r#"pods "b" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"#;
    assert_eq!(refused.refused(), (403, "Forbidden", message));
    client.post(PODS, &pod("more", requests, json!({}))).await.fine();
    client.delete(&format!("{PODS}/a?gracePeriodSeconds=0")).await.fine();
    used(&client, json!({"pods": "0"})).await;
}

#[tokio::test]
async fn a_quota_selects_pods_by_priority_class() {
    let (_server, _, client) = server().await;
    let one = json!({"scopeName": "PriorityClass", "operator": "NotIn", "values": ["low"]});
    let mut scoped = quota(&json!({"pods": "1"}));
    scoped["spec"]["scopeSelector"] = json!({"matchExpressions": [one]});
    client.post(QUOTAS, &scoped).await.fine();
    let of = |name: &str, class: &str| {
        let mut pod = pod(name, json!({}), json!({}));
        pod["spec"]["priorityClassName"] = class.into();
        pod
    };
    client.post(PODS, &of("a", "low")).await.fine();
    client.post(PODS, &of("b", "low")).await.fine();
    used(&client, json!({"pods": "0"})).await;
    client.post(PODS, &of("c", "high")).await.fine();
    assert_eq!(client.post(PODS, &of("d", "high")).await.refused().0, 403);
    used(&client, json!({"pods": "1"})).await;
}

#[tokio::test]
async fn node_ports_are_limited_when_a_service_is_created_and_when_its_type_changes() {
    let (_server, _, client) = server().await;
    client.post(QUOTAS, &quota(&json!({"services": "5", "services.nodeports": "1"}))).await.fine();
    client.post(SERVICES, &service("plain", "ClusterIP")).await.fine();
    client.post(SERVICES, &service("a", "NodePort")).await.fine();
    used(&client, json!({"services": "2", "services.nodeports": "1"})).await;
    let refused = client.post(SERVICES, &service("b", "LoadBalancer")).await;
    let message = r#"services "b" is forbidden: exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=1, limited: services.nodeports=1"#;
    assert_eq!(refused.refused(), (403, "Forbidden", message));
    let plain = format!("{SERVICES}/plain");
    let refused = client.merge(&plain, &json!({"spec": {"type": "NodePort"}})).await;
    let message = r#"services "plain" is forbidden: exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=1, limited: services.nodeports=1"#;
    assert_eq!(refused.refused(), (403, "Forbidden", message));
    client.delete(&format!("{SERVICES}/a")).await.fine();
    client.merge(&plain, &json!({"spec": {"type": "NodePort"}})).await.fine();
    used(&client, json!({"services": "1", "services.nodeports": "1"})).await;
}
