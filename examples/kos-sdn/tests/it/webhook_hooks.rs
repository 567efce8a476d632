//! The hooks of the webhook: stamps and rejections.

use base64::Engine as _;
use jiff::Timestamp;
use kos::model::{GROUP, VERSION, webhook_hooks};
use machinery::apiserver::{ReviewPhase, WebhookEndpoint};
use serde_json::{Value, json};

/// Returns the response to a review of a write by a user, at a second.
async fn response(phase: ReviewPhase, kind: &str, object: &Value, old: &Value, second: i64) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    let operation = if old.is_null() { "CREATE" } else { "UPDATE" };
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u", "kind": {"group": GROUP, "version": VERSION, "kind": kind}, "operation": operation,
        "resource": {"group": GROUP, "version": VERSION, "resource": plural},
        "userInfo": {"username": "ann"}, "object": object, "oldObject": old,
    }});
    let now = Timestamp::from_second(second).unwrap();
    webhook_hooks().review(phase, &review, now).await.unwrap()["response"].take()
}

/// Returns the operations of a mutation, by path.
async fn mutation(object: &Value, old: &Value, second: i64) -> Vec<(String, Value)> {
    let response = response(ReviewPhase::Mutate, "NetworkAttachment", object, old, second).await;
    assert_eq!(response["allowed"], true);
    let Some(patch) = response["patch"].as_str() else { return Vec::new() };
    let patch = base64::engine::general_purpose::STANDARD.decode(patch).unwrap();
    let patch: Vec<Value> = serde_json::from_slice(&patch).unwrap();
    patch.into_iter().map(|mut it| (it["path"].as_str().unwrap().to_owned(), it["value"].take())).collect()
}

#[tokio::test]
async fn new_object_is_stamped_without_status() {
    let new = json!({
        "metadata": {"name": "a", "namespace": "n"}, "spec": {"node": "x", "subnet": "s"},
        "status": {"ipv4": "10.0.0.2"}, "unknown": 1,
    });
    let made = mutation(&new, &Value::Null, 1).await;
    let write = |second: u32| json!([{"section": "spec", "serverTime": format!("1970-01-01T00:00:0{second}.000000Z")}]);
    let stamp = |second: u32| ("/extendedMetadata".to_owned(), json!({"writes": write(second)}));
    assert_eq!(made, [("/status".to_owned(), Value::Null), stamp(1)]);

    // The stored status is the server's from here on, and a status sent with the object is no write.
    let mut there = new.clone();
    there["status"] = json!({"ipv4": "10.0.0.2", "addressVNI": 1, "of another version": true});
    there["extendedMetadata"] = stamp(1).1;
    let mut changed = there.clone();
    changed["spec"]["postDeleteExec"] = json!(["/bin/true"]);
    changed["status"] = Value::Null;
    changed.as_object_mut().unwrap().remove("extendedMetadata");
    let made = mutation(&changed, &there, 2).await;
    assert_eq!(made, [("/status".to_owned(), there["status"].clone()), stamp(2)]);
    assert_eq!(mutation(&there, &there, 3).await, [], "an update without changes is no write");
}

#[tokio::test]
async fn invalid_objects_are_denied_with_causes() {
    let subnet = |vni: u32, ipv4: &str| json!({"metadata": {"name": "a", "namespace": "n"}, "spec": {"vni": vni, "ipv4": ipv4}});
    let validate =
        async |new: &Value, old: &Value| response(ReviewPhase::Validate, "Subnet", new, old, 1).await;
    assert_eq!(validate(&subnet(1, "10.0.0.0/24"), &Value::Null).await["allowed"], true);
    let refused = validate(&subnet(0, "8.8.8.0/24"), &Value::Null).await;
    assert_eq!((&refused["allowed"], &refused["status"]["code"]), (&false.into(), &422.into()));
    assert_eq!(
        refused["status"]["message"],
        "Subnet.network.example.com \"a\" is invalid: [spec.vni: Invalid value: 0: must be in [1,2097151], \
         spec.ipv4: Invalid value: \"8.8.8.0/24\": must be compliant with RFC 1918 and is not]"
    );
    let refused = validate(&subnet(2, "10.0.0.0/24"), &subnet(1, "10.0.0.0/24")).await;
    assert_eq!(refused["status"]["details"]["causes"][0]["field"], "spec.vni");
    assert!(refused["status"]["message"].as_str().unwrap().contains("attempt to update immutable field"));
}

#[test]
fn webhook_manifests_have_all_kinds() {
    let file = webhook_hooks().manifests(&WebhookEndpoint::service("n", "kos")).unwrap();
    for part in ["subnets", "networkattachments", "iplocks", "path: /mutate", "path: /validate"] {
        assert!(file.contains(part), "{part}: {file}");
    }
}
