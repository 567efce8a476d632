//! In which trace an object says it was changed last.

use machinery_objects::Traceparent;
use serde_json::{Value, json};

use super::{metadata, metadata_mut};

const KEY: &str = Traceparent::ANNOTATION;

/// What becomes of the annotation where the object is written.
#[derive(Clone, Copy)]
pub(super) enum Mark {
    /// It stays what it is by now.
    Stays,
    /// It says this trace.
    Says(Traceparent),
    /// Who changes the object says no trace, and is not to be taken for who changed it before.
    Goes,
}

/// Makes the annotation what it was, so that no trace is a change, and says what it is to be if there is another one. What a client that
/// says no trace wrote into it is a change like any other, and stays.
pub(super) fn set_aside(new: &mut Value, old: Option<&Value>, trace: Option<Traceparent>) -> Mark {
    let had = old.and_then(said);
    let is_written = said(new).is_some_and(|says| Some(says) != had);
    if is_written && trace.is_none() {
        return Mark::Stays;
    }
    put(new, had.unwrap_or_default());
    match trace {
        Some(trace) => Mark::Says(trace),
        None if had.is_some() && !old.is_some_and(is_managed) => Mark::Goes,
        None => Mark::Stays,
    }
}

impl Mark {
    /// The object is written.
    pub(super) fn put(self, object: &mut Value) {
        match self {
            Self::Stays => {}
            Self::Says(trace) => put(object, &trace.to_string()),
            Self::Goes => put(object, ""),
        }
    }
}

fn said(object: &Value) -> Option<&str> {
    metadata(object).get("annotations")?.get(KEY)?.as_str()
}

/// Whether somebody manages it: then it was written as a field, and not put there by the server.
fn is_managed(object: &Value) -> bool {
    const PATH: &str = "/fieldsV1/f:metadata/f:annotations/f:machinery.dev~1traceparent";
    let entries = metadata(object).get("managedFields").and_then(Value::as_array);
    entries.is_some_and(|entries| entries.iter().any(|entry| entry.pointer(PATH).is_some()))
}

/// Says this; nothing, where it is empty.
fn put(object: &mut Value, text: &str) {
    if text == said(object).unwrap_or_default() {
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

    /// What is compared with what was there, and what is written if that differs.
    fn check(new: Option<&str>, old: Option<&str>, trace: Option<&str>, expected: [Option<&str>; 2]) {
        let (mut made, trace) = (object(new), trace.map(|trace| trace.parse().unwrap()));
        let mark = set_aside(&mut made, Some(&object(old)), trace);
        let compared = made.clone();
        mark.put(&mut made);
        assert_eq!([compared, made], expected.map(object), "{new:?} over {old:?} in {trace:?}");
    }

    #[test]
    fn a_trace_is_no_change() {
        for new in [None, Some(ONE), Some("by hand")] {
            check(new, None, Some(OTHER), [None, Some(OTHER)]);
            check(new, Some(ONE), Some(OTHER), [Some(ONE), Some(OTHER)]);
        }
    }

    #[test]
    fn no_trace_takes_away_what_is_of_another_change() {
        check(None, None, None, [None, None]);
        check(Some(ONE), Some(ONE), None, [Some(ONE), None]);
        check(None, Some(ONE), None, [Some(ONE), None]);
    }

    #[test]
    fn what_is_written_by_hand_stays() {
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
    fn other_annotations_are_left_alone() {
        let mut new = json!({"metadata": {"annotations": {"a": "b", KEY: ONE}}});
        let old = new.clone();
        set_aside(&mut new, Some(&old), None).put(&mut new);
        assert_eq!(new, json!({"metadata": {"annotations": {"a": "b"}}}));
    }
}
