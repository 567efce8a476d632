//! From `kubectl apply` to `kubectl apply --server-side`: the annotation in which kubectl keeps what it applied.

use serde_json::Value;

use super::compare::{Comparison, compare};
use super::of::of;
use super::{FieldSet, Write};
use crate::json::go_json;
use crate::meta::MAX_ANNOTATIONS;

/// The one manager that applied before there was server-side apply.
const MANAGER: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What of the object is as kubectl applied it: no conflict, if it is kubectl who applies now.
pub(super) fn applied_before(live: &Value, write: &Write<'_>) -> FieldSet {
    let read = || {
        let text = annotation(live).filter(|_| write.manager == MANAGER)?;
        let applied: Value = serde_json::from_str(text).ok()?;
        if applied["apiVersion"] != write.api_version {
            return None;
        }
        let lists = write.lists();
        let Comparison { added, modified, removed } = compare(&applied, live, &lists).ok()?;
        Some(of(&applied, &lists).difference(&modified).difference(&added).difference(&removed))
    };
    read().unwrap_or_default()
}

/// Keeps the annotation of an object that has one up to date with what kubectl applies.
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
