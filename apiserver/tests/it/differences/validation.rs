//! Validation on write, and the forms of objects.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::client::{Client, widgets};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const EVENTS: &str = "/api/v1/namespaces/default/events";
const NEW_EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/default/events";
const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
const MIB: usize = 1 << 20;

async fn is_refused(client: &Client, path: &str, object: &Value, message: &str) {
    let answer = client.post(path, object).await;
    assert_eq!(answer.refused(), (422, "Invalid", message));
}

#[tokio::test]
async fn the_data_of_a_config_map_may_be_exactly_one_mebibyte() {
    let (_server, client) = widgets().await;
    let map = |name: &str, text: usize, binary: usize| {
        let binary = STANDARD.encode(vec![0; binary]);
        json!({"metadata": {"name": name}, "data": {"a-key-that-does-not-count": "x".repeat(text)}, "binaryData": {"b": binary}})
    };
    client.post(MAPS, &map("text", MIB, 0)).await.fine();
    client.post(MAPS, &map("binary", 0, MIB)).await.fine();
    client.post(MAPS, &map("both", MIB - 1, 1)).await.fine();
    for (text, binary) in [(MIB + 1, 0), (0, MIB + 1), (MIB, 1)] {
        let message = "ConfigMap \"more\" is invalid: : Too long: may not be more than 1048576 bytes";
        is_refused(&client, MAPS, &map("more", text, binary), message).await;
    }
    let secret = |name: &str, size: usize| json!({"metadata": {"name": name}, "data": {"key": STANDARD.encode(vec![0; size])}});
    client.post(SECRETS, &secret("exact", MIB)).await.fine();
    let message = "Secret \"more\" is invalid: data: Too long: may not be more than 1048576 bytes";
    is_refused(&client, SECRETS, &secret("more", MIB + 1), message).await;
}

#[tokio::test]
async fn a_typed_secret_has_the_data_of_its_type() {
    let (_server, client) = widgets().await;
    let secret = |kind: &str, data: Value| json!({"metadata": {"name": "s"}, "type": kind, "data": data});
    let is_refused = async |kind: &str, data: Value, why: &str| {
        is_refused(&client, SECRETS, &secret(kind, data), &format!("Secret \"s\" is invalid: {why}")).await;
    };
    is_refused(
        "kubernetes.io/tls",
        json!({}),
        "[data[tls.crt]: Required value, data[tls.key]: Required value]",
    )
    .await;
    is_refused(
        "kubernetes.io/basic-auth",
        json!({}),
        "[data[username]: Required value, data[password]: Required value]",
    )
    .await;
    is_refused("kubernetes.io/ssh-auth", json!({}), "data[ssh-privatekey]: Required value").await;
    is_refused("kubernetes.io/dockercfg", json!({}), "data[.dockercfg]: Required value").await;
    let config = json!({".dockerconfigjson": STANDARD.encode("hunter2")});
    let why = "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": invalid character 'h' looking for beginning of value";
    is_refused("kubernetes.io/dockerconfigjson", config, why).await;
    let account = "metadata.annotations[kubernetes.io/service-account.name]: Required value";
    is_refused("kubernetes.io/service-account-token", json!({}), account).await;
    let fine = secret("kubernetes.io/tls", json!({"tls.crt": "", "tls.key": ""}));
    client.post(SECRETS, &fine).await.fine();
    let broken = client.merge(&format!("{SECRETS}/s"), &json!({"data": {"tls.key": null}})).await;
    assert_eq!(broken.refused(), (422, "Invalid", "Secret \"s\" is invalid: data[tls.key]: Required value"));
}

#[tokio::test]
async fn the_duration_of_a_lease_is_positive() {
    let (_server, client) = widgets().await;
    let lease = |seconds: i64| json!({"metadata": {"name": "l"}, "spec": {"leaseDurationSeconds": seconds}});
    for seconds in [0, -1] {
        let message = format!(
            "Lease.coordination.k8s.io \"l\" is invalid: spec.leaseDurationSeconds: Invalid value: {seconds}: must be greater than 0"
        );
        is_refused(&client, LEASES, &lease(seconds), &message).await;
    }
    let made = client.post(LEASES, &lease(1)).await.fine();
    let mut less = made.clone();
    less["spec"]["leaseDurationSeconds"] = 0.into();
    assert_eq!(client.put(&format!("{LEASES}/l"), &less).await.code, 422);
}

#[tokio::test]
async fn a_rule_has_resources_or_urls() {
    let (_server, client) = widgets().await;
    let role = |rule: Value| json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}, "rules": [rule]});
    let message = "ClusterRole.rbac.authorization.k8s.io \"r\" is invalid: rules[0].nonResourceURLs: Invalid value: [\"/healthz\"]: rules cannot apply to both regular resources and non-resource URLs";
    for more in [json!({"apiGroups": [""]}), json!({"resources": ["pods"]}), json!({"resourceNames": ["a"]})]
    {
        let mut rule = more;
        rule["nonResourceURLs"] = json!(["/healthz"]);
        rule["verbs"] = json!(["get"]);
        is_refused(&client, ROLES, &role(rule), message).await;
    }
    client.post(ROLES, &role(json!({"nonResourceURLs": ["/healthz"], "verbs": ["get"]}))).await.fine();
}

#[tokio::test]
async fn an_event_without_a_time_is_served_with_null() {
    let (_server, client) = widgets().await;
    let event = json!({
        "metadata": {"name": "e"}, "reason": "R", "message": "m", "type": "Normal",
        "involvedObject": {"kind": "ConfigMap", "name": "c", "namespace": "default"},
    });
    let made = client.post(EVENTS, &event).await.fine();
    let listed = client.get(EVENTS).await.fine();
    for event in [&made, &client.get(&format!("{EVENTS}/e")).await.fine(), &listed["items"][0]] {
        for field in ["eventTime", "firstTimestamp", "lastTimestamp"] {
            assert!(event.as_object().unwrap().contains_key(field), "{field}: {event}");
            assert_eq!(event[field], Value::Null);
        }
        assert_eq!((&event["source"], &event["reportingComponent"]), (&json!({}), &json!("")));
    }
    let new = client.get(&format!("{NEW_EVENTS}/e")).await.fine();
    assert_eq!(new.as_object().unwrap().get("eventTime"), Some(&Value::Null));
    assert_eq!(new.as_object().unwrap().get("deprecatedFirstTimestamp"), Some(&Value::Null));
    // It is selected by its source, and an unchanged update is none.
    let by_source = |name: &str| format!("{EVENTS}?fieldSelector=source%3D{name}");
    let mut sourced = event.clone();
    sourced["metadata"]["name"] = "f".into();
    sourced["source"] = json!({"component": "kubelet"});
    client.post(EVENTS, &sourced).await.fine();
    assert_eq!(client.get(&by_source("kubelet")).await.fine()["items"].as_array().unwrap().len(), 1);
    let again = client.put(&format!("{EVENTS}/e"), &made).await.fine();
    assert_eq!(again["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
}

#[tokio::test]
async fn an_event_is_validated_by_the_rules_of_its_group() {
    let (_server, client) = widgets().await;
    let named = |mut event: Value| {
        event["metadata"] = json!({"name": "e"});
        event
    };
    let elsewhere = named(json!({"involvedObject": {"namespace": "other"}}));
    let message = "Event \"e\" is invalid: involvedObject.namespace: Invalid value: \"other\": does not match event.namespace";
    is_refused(&client, EVENTS, &elsewhere, message).await;
    let bare = named(json!({"regarding": {"namespace": "default"}}));
    let message = "Event.events.k8s.io \"e\" is invalid: [eventTime: Required value, type: Invalid value: \"\": has invalid value: ]";
    is_refused(&client, NEW_EVENTS, &bare, message).await;
    let whole = named(json!({
        "regarding": {"namespace": "default"}, "eventTime": "2026-11-21T09:30:38.000000Z", "type": "Normal",
        "reportingController": "example.com/c", "reportingInstance": "i", "action": "A", "reason": "R", "note": "n",
    }));
    client.post(NEW_EVENTS, &whole).await.fine();
    let path = format!("{NEW_EVENTS}/e");
    let message =
        "Event.events.k8s.io \"e\" is invalid: message: Invalid value: \"other\": field is immutable";
    assert_eq!(client.merge(&path, &json!({"note": "other"})).await.refused(), (422, "Invalid", message));
    let series = json!({"series": {"count": 2, "lastObservedTime": "2026-11-21T09:31:38.000000Z"}});
    client.merge(&path, &series).await.fine();
}
