use std::sync::Arc;

use serde_json::{Value, json};

use super::of;
use crate::kind::KindHooks as _;
use crate::native;

/// The objects of `record/defaults` with the values that Kubernetes' functions set.
#[test]
fn defaults_equal_those_of_kubernetes() {
    let recorded: Value = serde_json::from_str(include_str!("../../../tests/bodies/defaults.json")).unwrap();
    let cases = recorded.as_array().unwrap();
    assert!(cases.len() > 40, "{}", cases.len());
    for case in cases {
        let (given, expected) = (&case["given"], &case["defaulted"]);
        let text = |field: &str| given[field].as_str().unwrap();
        let kinds = native::kinds()
            .find(|kind| kind.api_version == text("apiVersion") && kind.names.kind == text("kind"));
        let kind: Arc<_> = kinds.unwrap();
        let mut object = given.clone();
        kind.reshape(&mut object);
        let mut expected = expected.clone();
        kind.convert(&mut expected);
        // Kubernetes sets the type of these in a conversion.
        for claim in claims(&mut object) {
            let claim = claim.as_object_mut().unwrap();
            assert_eq!(claim.remove("kind").unwrap(), "PersistentVolumeClaim");
            assert_eq!(claim.remove("apiVersion").unwrap(), "v1");
        }
        // Go writes empty objects and zeros that are not defaults.
        assert_eq!(without_empty(&object), without_empty(&expected), "{given}");
        kind.reshape(&mut object);
        let once = object.clone();
        kind.reshape(&mut object);
        assert_eq!(object, once, "a second time changes nothing");
    }
}

fn claims(object: &mut Value) -> impl Iterator<Item = &mut Value> {
    object.pointer_mut("/spec/volumeClaimTemplates").and_then(Value::as_array_mut).into_iter().flatten()
}

/// Removes zeros.
fn without_zeros(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| **value != 0);
            Value::Object(fields.map(|(name, value)| (name.clone(), without_zeros(value))).collect())
        }
        other => other.clone(),
    }
}

/// Removes empty objects and texts, and the zeros of a status: Go cannot tell them from missing
/// ones.
fn without_empty(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let counted = |name: &str, value: &Value| {
                if name == "status" { without_zeros(value) } else { value.clone() }
            };
            let fields =
                fields.iter().map(|(name, value)| (name.clone(), without_empty(&counted(name, value))));
            let is_said = |(_, value): &(String, Value)| {
                !(value.is_null() || *value == json!({}) || *value == json!(""))
            };
            Value::Object(fields.filter(is_said).collect())
        }
        Value::Array(items) => items.iter().map(without_empty).collect(),
        other => other.clone(),
    }
}

#[test]
fn images_without_a_tag_are_pulled_always() {
    for (image, expected) in [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.27", "IfNotPresent"),
        ("localhost:5000/nginx", "Always"),
        ("localhost:5000/nginx:1", "IfNotPresent"),
        ("nginx@sha256:abc", "IfNotPresent"),
        ("nginx:latest@sha256:abc", "Always"),
        ("", "IfNotPresent"),
    ] {
        let mut pod = json!({"spec": {"containers": [{"name": "c", "image": image}]}});
        of("", "Pod").unwrap().default(&mut pod);
        assert_eq!(pod["spec"]["containers"][0]["imagePullPolicy"], expected, "{image}");
    }
}

#[test]
fn a_new_pod_is_pending_in_its_class_of_service() {
    let resources = |requests: Value, limits: Value| json!({"requests": requests, "limits": limits});
    let all = json!({"cpu": "1", "memory": "1Gi"});
    for (resources, expected) in [
        (json!({}), "BestEffort"),
        (resources(all.clone(), all.clone()), "Guaranteed"),
        (resources(Value::Null, all.clone()), "Guaranteed"),
        (resources(json!({"cpu": "1"}), Value::Null), "Burstable"),
        (resources(json!({"cpu": "500m", "memory": "1Gi"}), all), "Burstable"),
    ] {
        let mut pod = json!({"spec": {"containers": [{"name": "c", "image": "i", "resources": resources}]}});
        let hooks = of("", "Pod").unwrap();
        hooks.default(&mut pod);
        hooks.creating(&mut pod);
        assert_eq!(pod["status"], json!({"phase": "Pending", "qosClass": expected}), "{resources}");
    }
}
