//! Migration from `kubectl apply` to `kubectl apply --server-side`: the annotation in which kubectl
//! keeps the last applied configuration.

use serde_json::Value;

use super::compare::{Comparison, compare};
use super::of::of;
use super::{FieldSet, Write};
use crate::json::{go_json, read};
use crate::meta::MAX_ANNOTATIONS;

/// The one manager that applied before there was server-side apply.
const MANAGER: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The fields that still have the values from the last-applied annotation: no conflicts, if the
/// writer is kubectl.
pub(super) fn applied_before(live: &Value, write: &Write<'_>) -> FieldSet {
    let fields = || {
        let text = annotation(live).filter(|_| write.manager == MANAGER)?;
        // Read like a request body: a number equals the live one in any notation.
        let applied = read(text.as_bytes()).ok()?.value;
        if applied["apiVersion"] != write.api_version {
            return None;
        }
        let lists = write.lists();
        let Comparison { added, modified, removed } = compare(&applied, live, &lists).ok()?;
        Some(of(&applied, &lists).difference(&modified).difference(&added).difference(&removed))
    };
    fields().unwrap_or_default()
}

/// Updates the last-applied annotation of an object that has one, after an apply by kubectl.
pub(super) fn note(object: &mut Value, applied: &Value, write: &Write<'_>) {
    if write.manager != MANAGER || annotation(object).is_none() {
        return;
    }
    let mut applied = applied.clone();
    if let Some(annotations) = applied.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(ANNOTATION);
    }
    let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) else {
        return;
    };
    annotations.insert(ANNOTATION.into(), format!("{}\n", go_json(&applied)).into());
    let length = |(name, value): (&String, &Value)| name.len() + value.as_str().map_or(0, str::len);
    if annotations.iter().map(length).sum::<usize>() > MAX_ANNOTATIONS {
        annotations.remove(ANNOTATION);
    }
}

fn annotation(object: &Value) -> Option<&str> {
    object["metadata"]["annotations"].get(ANNOTATION)?.as_str().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::managed::PathElement;
    use crate::managed::tests::{Only, TestSchema, fields};

    /// The annotation after `note`, and whether it is the applied configuration.
    fn noted(floats: &Value, annotation: &str) -> String {
        let spec = fields([("floats", TestSchema::default())]);
        let versions = Only("t.io/v1", fields([("spec", spec)]));
        let write = Write {
            manager: MANAGER,
            subresource: None,
            api_version: "t.io/v1",
            now: "2026-11-25T09:00:00Z",
            versions: &versions,
        };
        let applied = json!({"apiVersion": "t.io/v1", "spec": {"floats": floats}});
        let mut object = read(applied.to_string().as_bytes()).unwrap().value;
        object["metadata"] = json!({"annotations": {ANNOTATION: annotation}});
        let floats = [PathElement::Field("spec".into()), PathElement::Field("floats".into())];
        assert!(applied_before(&object, &write).contains(&floats), "{annotation}");
        note(&mut object, &applied, &write);
        object["metadata"]["annotations"][ANNOTATION].as_str().unwrap().to_owned()
    }

    #[test]
    fn floats_of_the_annotation_are_written_as_go_does_and_read_in_older_forms() {
        let floats = json!([1.0, -0.0, 1e16, 1e20, 1e21, 1e-6, 1e-7, 5e-324, f64::MAX]);
        let annotation = |floats: &str| format!(r#"{{"apiVersion":"t.io/v1","spec":{{"floats":{floats}}}}}"#);
        let expected = annotation(
            "[1,-0,10000000000000000,100000000000000000000,1e+21,0.000001,1e-7,5e-324,1.7976931348623157e+308]",
        );
        assert_eq!(noted(&floats, &annotation(&floats.to_string())), format!("{expected}\n"));
        assert_eq!(noted(&floats, &expected), format!("{expected}\n"));
    }
}
