//! The trace context of an object's last change, in an annotation.

use machinery_objects::Traceparent;
use serde_json::{Value, json};

use super::{metadata, metadata_mut};
use crate::meta::MAX_ANNOTATIONS;

const KEY: &str = Traceparent::ANNOTATION;

/// The treatment of the trace annotation in a write.
#[derive(Clone, Copy)]
pub(super) enum Mark {
    /// Keeps the annotation.
    Stays,
    /// Sets this trace context.
    Says(Traceparent),
    /// Removes the annotation: the write has no trace context, and must not be attributed to that
    /// of the last write.
    Goes,
}

/// Restores the old annotation, so that a trace context alone is no change, and returns the
/// treatment if the object does change. An annotation written by a client without a trace context
/// is an ordinary change, and stays.
pub(super) fn set_aside(new: &mut Value, old: Option<&Value>, trace: Option<Traceparent>) -> Mark {
    let had = old.and_then(annotation);
    let is_theirs = old.is_some_and(is_managed);
    let is_written = match annotation(new) {
        Some(says) => Some(says) != had,
        None => is_theirs,
    };
    if is_written && trace.is_none() {
        return Mark::Stays;
    }
    put(new, had.unwrap_or_default());
    match trace {
        Some(trace) => Mark::Says(trace),
        None if had.is_some() && !is_theirs => Mark::Goes,
        None => Mark::Stays,
    }
}

impl Mark {
    /// Writes the annotation into an object that is about to be stored.
    pub(super) fn put(self, object: &mut Value) {
        match self {
            Self::Stays => {}
            Self::Says(trace) => {
                let text = if has_room(object) { trace.to_string() } else { String::new() };
                put(object, &text);
                unmanage(object);
            }
            Self::Goes => put(object, ""),
        }
    }
}

/// Removes the annotation and its managedFields, to compare everything else.
pub(crate) fn forget_trace(object: &mut Value) {
    put(object, "");
}

fn annotation(object: &Value) -> Option<&str> {
    metadata(object).get("annotations")?.get(KEY)?.as_str()
}

/// The path of the annotation in the fields of a manager.
const PATH: [&str; 4] = ["fieldsV1", "f:metadata", "f:annotations", "f:machinery.dev/traceparent"];

/// Returns whether a field manager owns the annotation: then a client wrote it, and not the server.
fn is_managed(object: &Value) -> bool {
    let manages = |entry: &Value| PATH.iter().try_fold(entry, |value, field| value.get(field)).is_some();
    let entries = metadata(object).get("managedFields").and_then(Value::as_array);
    entries.is_some_and(|entries| entries.iter().any(manages))
}

/// Removes the annotation from managedFields: the server owns it.
fn unmanage(object: &mut Value) {
    if !is_managed(object) {
        return;
    }
    if let Some(entries) = metadata_mut(object).get_mut("managedFields").and_then(Value::as_array_mut) {
        entries.retain_mut(|entry| !remove(entry, &PATH) || entry.get(PATH[0]).is_some());
    }
}

/// Removes the field at a path, and parents that become empty. Returns whether it existed.
fn remove(from: &mut Value, path: &[&str]) -> bool {
    let (Some(from), Some((field, rest))) = (from.as_object_mut(), path.split_first()) else { return false };
    if rest.is_empty() {
        return from.remove(*field).is_some();
    }
    let Some(inner) = from.get_mut(*field) else { return false };
    let removed = remove(inner, rest);
    // A map that is owned itself has a dot as an entry.
    let is_empty = inner.as_object().is_some_and(|fields| fields.keys().all(|field| field == "."));
    if removed && is_empty {
        from.remove(*field);
    }
    removed
}

/// Returns whether the annotations have capacity for the trace: an object near the limit can still
/// be written.
fn has_room(object: &Value) -> bool {
    let annotations = metadata(object).get("annotations").and_then(Value::as_object).into_iter().flatten();
    let others = annotations.filter(|(key, _)| *key != KEY);
    let bytes: usize = others.map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum();
    bytes + KEY.len() + Traceparent::LENGTH <= MAX_ANNOTATIONS
}

/// Sets the annotation; an empty text removes it.
fn put(object: &mut Value, text: &str) {
    if text == annotation(object).unwrap_or_default() {
        return;
    }
    let metadata = metadata_mut(object);
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    if !annotations.is_object() {
        *annotations = json!({});
    }
    if !text.is_empty() {
        annotations[KEY] = text.into();
        return;
    }
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.remove(KEY);
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const OTHER: &str = "00-11111111111111111111111111111111-2222222222222222-01";

    fn object(says: Option<&str>) -> Value {
        match says {
            Some(says) => json!({"metadata": {"name": "a", "annotations": {KEY: says}}}),
            None => json!({"metadata": {"name": "a"}}),
        }
    }

    /// Expects these annotations: the one for comparison, and the one written if anything differs.
    fn check(new: Option<&str>, old: Option<&str>, trace: Option<&str>, expected: [Option<&str>; 2]) {
        let (mut made, trace) = (object(new), trace.map(|trace| trace.parse().unwrap()));
        let mark = set_aside(&mut made, Some(&object(old)), trace);
        let compared = made.clone();
        mark.put(&mut made);
        assert_eq!([compared, made], expected.map(object), "{new:?} over {old:?} in {trace:?}");
    }

    #[test]
    fn a_trace_context_alone_is_no_change() {
        for new in [None, Some(ONE), Some("by hand")] {
            check(new, None, Some(OTHER), [None, Some(OTHER)]);
            check(new, Some(ONE), Some(OTHER), [Some(ONE), Some(OTHER)]);
        }
    }

    #[test]
    fn a_write_without_a_trace_context_removes_the_old_one() {
        check(None, None, None, [None, None]);
        check(Some(ONE), Some(ONE), None, [Some(ONE), None]);
        check(None, Some(ONE), None, [Some(ONE), None]);
    }

    #[test]
    fn an_annotation_written_by_a_client_is_kept() {
        check(Some("by hand"), None, None, [Some("by hand"); 2]);
        check(Some("by hand"), Some(ONE), None, [Some("by hand"); 2]);
        let mut old = object(Some("by hand"));
        let fields = json!({"f:metadata": {"f:annotations": {".": {}, format!("f:{KEY}"): {}}}});
        old["metadata"]["managedFields"] = json!([{"manager": "somebody", "fieldsV1": fields}]);
        let mut new = old.clone();
        set_aside(&mut new, Some(&old), None).put(&mut new);
        assert_eq!(new, old);
    }

    #[test]
    fn an_overwritten_annotation_has_no_field_manager() {
        let manages = |more: Value| {
            let mut fields = json!({"f:metadata": {"f:annotations": {".": {}, format!("f:{KEY}"): {}}}});
            fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"manager": "somebody", "fieldsV1": fields})
        };
        let mut old = object(Some("by hand"));
        old["metadata"]["managedFields"] = json!([manages(json!({})), manages(json!({"f:spec": {}}))]);
        let mut new = old.clone();
        set_aside(&mut new, Some(&old), Some(ONE.parse().unwrap())).put(&mut new);
        let left = json!([{"manager": "somebody", "fieldsV1": {"f:spec": {}}}]);
        assert_eq!((annotation(&new), &new["metadata"]["managedFields"]), (Some(ONE), &left));
        let outside = new.clone();
        set_aside(&mut new, Some(&outside), None).put(&mut new);
        assert_eq!(annotation(&new), None, "it is a stamp like any other");

        let mut new = object(None);
        let mark = set_aside(&mut new, Some(&old), None);
        assert!(matches!(mark, Mark::Stays) && annotation(&new).is_none(), "who wrote it may take it away");
    }

    #[test]
    fn annotations_at_the_size_limit_get_no_trace_context() {
        let mut new = object(Some(ONE));
        new["metadata"]["annotations"]["a"] = "x".repeat(MAX_ANNOTATIONS - 1 - KEY.len() - ONE.len()).into();
        let trace = || Mark::Says(OTHER.parse().unwrap());
        trace().put(&mut new);
        assert_eq!(annotation(&new), Some(OTHER));
        new["metadata"]["annotations"]["b"] = "".into();
        trace().put(&mut new);
        assert_eq!(annotation(&new), None);
    }

    #[test]
    fn other_annotations_are_left_alone() {
        let mut new = json!({"metadata": {"annotations": {"a": "b", KEY: ONE}}});
        let old = new.clone();
        set_aside(&mut new, Some(&old), None).put(&mut new);
        assert_eq!(new, json!({"metadata": {"annotations": {"a": "b"}}}));
    }
}
