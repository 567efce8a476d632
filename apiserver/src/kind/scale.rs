//! The `scale` subresource: the replica fields of an object, and their representation as `Scale`.

use serde_json::{Map, Value, json};

use super::Subresource;
use crate::auth::rbac::selector as label_selector;
use crate::invalid::{FieldError, Problem};
use crate::strategy::metadata;

/// The paths of an object's replica fields, without a leading dot: `spec.replicas`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scale {
    pub(crate) desired: String,
    pub(crate) current: String,
    /// The selector of the counted objects, structured or as text.
    pub(crate) selector: Option<String>,
}

impl Scale {
    /// Parses the scale subresource of a CustomResourceDefinition version.
    pub(crate) fn of(version: &Value) -> Option<Self> {
        let said = version["subresources"]["scale"].as_object()?;
        let path = |field: &str| {
            let path = said.get(field).and_then(Value::as_str).unwrap_or_default();
            Some(path.trim_start_matches('.').to_owned()).filter(|path| !path.is_empty())
        };
        Some(Self {
            desired: path("specReplicasPath")?,
            current: path("statusReplicasPath")?,
            selector: path("labelSelectorPath"),
        })
    }

    /// The paths of the built-in workloads.
    pub(crate) fn of_workload() -> Self {
        let path = str::to_owned;
        Self {
            desired: path("spec.replicas"),
            current: path("status.replicas"),
            selector: Some(path("spec.selector")),
        }
    }

    /// Returns the `Scale` of an object.
    pub(crate) fn read(&self, object: &Value) -> Value {
        let mut meta = metadata(object).clone();
        meta.retain(|field, _| KEPT.contains(&field.as_str()));
        let mut scale = json!({
            "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": meta, "spec": {},
            "status": {"replicas": at(object, &self.current).and_then(Value::as_i64).unwrap_or(0)},
        });
        if let Some(desired) = self.desired(object).filter(|desired| *desired != 0) {
            scale["spec"]["replicas"] = desired.into();
        }
        let selector = self.selector.as_ref().and_then(|path| at(object, path)).map(text_of);
        if let Some(selector) = selector.filter(|selector| !selector.is_empty()) {
            scale["status"]["selector"] = selector.into();
        }
        scale
    }

    /// Returns the desired number of replicas, if set.
    pub(crate) fn desired(&self, object: &Value) -> Option<i64> {
        at(object, &self.desired)?.as_i64()
    }

    /// Sets the desired number of replicas.
    pub(crate) fn set(&self, object: &mut Value, desired: i64) {
        let mut place = object;
        for name in self.desired.split('.') {
            if !place.is_object() {
                *place = Value::Object(Map::new());
            }
            place = &mut place[name];
        }
        *place = desired.into();
    }

    /// Validates the replica fields.
    pub(crate) fn errors(&self, object: &Value, subresource: Subresource) -> Vec<FieldError> {
        let desired = (subresource != Subresource::Status).then_some(&self.desired);
        desired.into_iter().chain([&self.current]).filter_map(|path| wrong(path, at(object, path)?)).collect()
    }
}

/// The metadata fields that a `Scale` copies from its object.
const KEPT: [&str; 5] = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];

fn text_of(selector: &Value) -> String {
    match selector {
        Value::String(text) => text.clone(),
        // The labels that a ReplicationController selects.
        Value::Object(labels) if labels.values().all(Value::is_string) => {
            let pairs =
                labels.iter().map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
            pairs.collect::<Vec<_>>().join(",")
        }
        selector => label_selector(selector).map(|selector| selector.to_string()).unwrap_or_default(),
    }
}

fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(object, |value, name| value.get(name))
}

fn wrong(path: &str, value: &Value) -> Option<FieldError> {
    let detail = match value.as_i64()? {
        number if number < 0 => "should be a non-negative integer".to_owned(),
        number if number > i64::from(i32::MAX) => format!("should be less than or equal to {}", i32::MAX),
        _ => return None,
    };
    Some(FieldError::new(format!(".{path}"), Problem::Invalid(value.clone()), detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale() -> Scale {
        let paths = json!({
            "specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size", "labelSelectorPath": ".status.of",
        });
        Scale::of(&json!({"subresources": {"scale": paths}})).expect("it has one")
    }

    #[track_caller]
    fn check(object: Value, spec: Value, status: Value) {
        let found = scale().read(&object);
        assert_eq!((&found["spec"], &found["status"]), (&spec, &status));
    }

    #[test]
    fn missing_replicas_are_omitted() {
        check(json!({}), json!({}), json!({"replicas": 0}));
        check(json!({"spec": "x", "status": {"size": "y", "of": 1}}), json!({}), json!({"replicas": 0}));
        check(
            json!({"spec": {"size": 3}, "status": {"size": 2, "of": "a=b"}}),
            json!({"replicas": 3}),
            json!({"replicas": 2, "selector": "a=b"}),
        );
        assert_eq!(Scale::of(&json!({"subresources": {"status": {}}})), None);
    }

    #[test]
    fn a_scale_has_the_identifying_metadata_only() {
        let object =
            json!({"metadata": {"name": "a", "uid": "u", "labels": {"x": "y"}, "managedFields": []}});
        assert_eq!(scale().read(&object)["metadata"], json!({"name": "a", "uid": "u"}));
    }

    #[test]
    fn replicas_are_set_at_the_path() {
        for mut object in [json!({}), json!({"spec": null}), json!({"spec": {"size": 1}})] {
            scale().set(&mut object, 5);
            assert_eq!(object, json!({"spec": {"size": 5}}));
        }
    }

    #[test]
    fn replicas_must_be_non_negative_int32() {
        let check = |desired: i64, current: i64, subresource: Subresource, expected: &[&str]| {
            let errors =
                scale().errors(&json!({"spec": {"size": desired}, "status": {"size": current}}), subresource);
            assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
        };
        check(0, i64::from(i32::MAX), Subresource::Main, &[]);
        check(
            -1,
            1 << 31,
            Subresource::Main,
            &[
                ".spec.size: Invalid value: -1: should be a non-negative integer",
                ".status.size: Invalid value: 2147483648: should be less than or equal to 2147483647",
            ],
        );
        check(
            -1,
            -1,
            Subresource::Status,
            &[".status.size: Invalid value: -1: should be a non-negative integer"],
        );
    }
}
