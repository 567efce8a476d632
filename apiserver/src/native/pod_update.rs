//! Updates of pods: most fields of `spec` are immutable.

use serde_json::Value;

use crate::invalid::{FieldError, Problem};
use crate::kind::KindHooks;

pub(super) struct Pods;

impl KindHooks for Pods {
    fn validate(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        old.map(|old| pod_update_errors(&new["spec"], &old["spec"])).unwrap_or_default()
    }
}

const ONLY: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,\
     `spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),\
     `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
const ADDED: &str = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
const DEADLINE: &str = "spec.activeDeadlineSeconds";

/// Returns the errors of an update of a pod's `spec`, in the words of Kubernetes without its
/// listing of the difference.
pub(super) fn pod_update_errors(new: &Value, old: &Value) -> Vec<FieldError> {
    if new == old {
        return Vec::new();
    }
    for field in ["containers", "initContainers"] {
        if listed(&new[field]).len() != listed(&old[field]).len() {
            return vec![forbidden(field, "pod updates may not add or remove containers")];
        }
    }
    let mut errors = images(new);
    match deadline(new, old) {
        Some(error) if !new["activeDeadlineSeconds"].is_null() => {
            errors.push(error);
            return errors;
        }
        error => errors.extend(error),
    }
    errors.extend(tolerations(new, old));
    errors.extend(gates(new, old));
    let mut rest = new.clone();
    for field in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
        rest[field] = old[field].clone();
    }
    for field in ["containers", "initContainers"] {
        let old = listed(&old[field]);
        for (container, old) in rest[field].as_array_mut().into_iter().flatten().zip(old) {
            container["image"] = old["image"].clone();
        }
    }
    let grace = "terminationGracePeriodSeconds";
    if old[grace].as_i64().is_some_and(|seconds| seconds < 0) && new[grace] == 1 {
        rest[grace] = old[grace].clone();
    }
    // Until a pod may be scheduled, the choice of its node may be narrowed.
    if !listed(&old["schedulingGates"]).is_empty() {
        errors.extend(selector(new, old));
        rest["nodeSelector"] = old["nodeSelector"].clone();
    }
    if without_empty(&rest) != without_empty(old) {
        errors.push(FieldError::new("spec", Problem::Forbidden, ONLY));
    }
    errors
}

fn images(new: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in ["containers", "initContainers"] {
        for (index, container) in listed(&new[field]).iter().enumerate() {
            let image = container["image"].as_str().unwrap_or_default();
            let at = format!("spec.{field}[{index}].image");
            if image.is_empty() {
                errors.push(FieldError::new(at, Problem::Required, ""));
            } else if image.trim() != image {
                let detail = "must not have leading or trailing whitespace";
                errors.push(FieldError::new(at, Problem::Invalid(image.into()), detail));
            }
        }
    }
    errors
}

/// A deadline may be set, and lowered.
fn deadline(new: &Value, old: &Value) -> Option<FieldError> {
    let (value, before) = (&new["activeDeadlineSeconds"], old["activeDeadlineSeconds"].as_i64());
    let detail = match (value.as_i64(), before) {
        (None, None) => return None,
        (None, Some(_)) => "must not update from a positive integer to nil value",
        (Some(seconds), _) if !(0..=i64::from(i32::MAX)).contains(&seconds) => {
            "must be between 0 and 2147483647, inclusive"
        }
        (Some(seconds), Some(before)) if before < seconds => "must be less than or equal to previous value",
        (Some(_), _) => return None,
    };
    Some(FieldError::new(DEADLINE, Problem::Invalid(value.clone()), detail))
}

fn tolerations(new: &Value, old: &Value) -> Option<FieldError> {
    let without_seconds = |toleration: &Value| {
        let mut toleration = toleration.clone();
        if let Some(fields) = toleration.as_object_mut() {
            fields.remove("tolerationSeconds");
        }
        toleration
    };
    let kept: Vec<Value> = listed(&new["tolerations"]).iter().map(without_seconds).collect();
    let lost = listed(&old["tolerations"]).iter().any(|old| !kept.contains(&without_seconds(old)));
    lost.then(|| {
        forbidden("tolerations", "existing toleration can not be modified except its tolerationSeconds")
    })
}

fn gates(new: &Value, old: &Value) -> Vec<FieldError> {
    let names = |spec: &Value| -> Vec<Value> {
        listed(&spec["schedulingGates"]).iter().map(|gate| gate["name"].clone()).collect()
    };
    let old = names(old);
    let added = names(new).into_iter().enumerate().filter(|(_, name)| !old.contains(name));
    let error = |(index, name): (usize, Value)| {
        let name = name.as_str().unwrap_or_default();
        let detail = format!("only deletion is allowed, but found new scheduling gate '{name}'");
        forbidden(&format!("schedulingGates[{index}].name"), &detail)
    };
    added.map(error).collect()
}

fn selector(new: &Value, old: &Value) -> Option<FieldError> {
    let mut entries = old["nodeSelector"].as_object().into_iter().flatten();
    let lost = entries.any(|(key, value)| new["nodeSelector"][key] != *value);
    lost.then(|| {
        let problem = Problem::Invalid(new["nodeSelector"].clone());
        FieldError::new("spec.nodeSelector", problem, ADDED)
    })
}

fn forbidden(field: &str, detail: &str) -> FieldError {
    FieldError::new(format!("spec.{field}"), Problem::Forbidden, detail)
}

fn listed(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

/// Returns a value without fields that are null or empty, which equal missing ones in Kubernetes.
fn without_empty(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), without_empty(value)));
            let is_empty = |value: &Value| match value {
                Value::Null => true,
                Value::Object(fields) => fields.is_empty(),
                Value::Array(items) => items.is_empty(),
                _ => false,
            };
            Value::Object(fields.filter(|(_, value)| !is_empty(value)).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_empty).collect()),
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(new: Value, expected: &[&str]) {
        let toleration = json!({"key": "a", "operator": "Exists", "tolerationSeconds": 5});
        let old = json!({
            "containers": [{"name": "c", "image": "a", "resources": {"requests": {"cpu": "1"}}}],
            "tolerations": [toleration], "activeDeadlineSeconds": 9, "nodeSelector": {"disk": "ssd"},
        });
        let mut merged = old.clone();
        for (field, value) in new.as_object().unwrap() {
            merged[field] = value.clone();
        }
        let errors: Vec<String> = pod_update_errors(&merged, &old).iter().map(ToString::to_string).collect();
        assert_eq!(errors, expected);
    }

    #[test]
    fn images_deadlines_and_tolerations_may_change() {
        check(json!({}), &[]);
        check(
            json!({"containers": [{"name": "c", "image": "b", "resources": {"requests": {"cpu": "1"}}}]}),
            &[],
        );
        check(json!({"activeDeadlineSeconds": 5}), &[]);
        let changed = json!({"key": "a", "operator": "Exists", "tolerationSeconds": 7});
        check(json!({"tolerations": [{"key": "b"}, changed]}), &[]);
        check(json!({"hostNetwork": null, "affinity": {"podAffinity": {}}}), &[]);
    }

    /// The resources of a pod could be changed, and a quota that counted them was evaded.
    #[test]
    fn other_fields_of_a_pod_are_immutable() {
        let only = format!("spec: Forbidden: {ONLY}");
        let container =
            |cpu: &str| json!({"name": "c", "image": "a", "resources": {"requests": {"cpu": cpu}}});
        check(json!({"containers": [container("100m")]}), &[&only]);
        check(json!({"nodeName": "n"}), &[&only]);
        check(json!({"nodeSelector": {"disk": "ssd", "zone": "a"}}), &[&only]);
        check(json!({"terminationGracePeriodSeconds": 1}), &[&only]);
        let added = "pod updates may not add or remove containers";
        check(
            json!({"containers": [container("1"), container("1")]}),
            &[&format!("spec.containers: Forbidden: {added}")],
        );
    }

    #[test]
    fn invalid_changes_of_mutable_fields_are_refused() {
        check(
            json!({"activeDeadlineSeconds": 10}),
            &["spec.activeDeadlineSeconds: Invalid value: 10: must be less than or equal to previous value"],
        );
        check(
            json!({"activeDeadlineSeconds": null}),
            &[
                "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value",
            ],
        );
        check(
            json!({"tolerations": []}),
            &[
                "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds",
            ],
        );
        let container = json!({"name": "c", "image": " b", "resources": {"requests": {"cpu": "1"}}});
        check(
            json!({"containers": [container]}),
            &[
                r#"spec.containers[0].image: Invalid value: " b": must not have leading or trailing whitespace"#,
            ],
        );
        check(
            json!({"schedulingGates": [{"name": "g"}]}),
            &[
                "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'g'",
            ],
        );
    }

    #[test]
    fn the_node_selector_of_a_gated_pod_may_be_narrowed() {
        let old =
            json!({"containers": [], "schedulingGates": [{"name": "g"}], "nodeSelector": {"disk": "ssd"}});
        let mut new = old.clone();
        new["nodeSelector"]["zone"] = "a".into();
        new["schedulingGates"] = json!([]);
        assert_eq!(pod_update_errors(&new, &old), []);
        new["nodeSelector"]["disk"] = "hdd".into();
        assert_eq!(pod_update_errors(&new, &old).len(), 1);
        let negative = json!({"terminationGracePeriodSeconds": -1});
        assert_eq!(pod_update_errors(&json!({"terminationGracePeriodSeconds": 1}), &negative), []);
    }
}
