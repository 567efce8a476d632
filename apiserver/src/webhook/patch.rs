//! The JSON patch (RFC 6902) between two states of an object.

use serde_json::{Map, Value, json};

/// Returns the operations that change `before` into `after`, in the order of the fields. A changed
/// list is replaced as a whole.
pub(super) fn operations(before: &Value, after: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    compare(before, after, "", &mut found);
    found
}

fn compare(before: &Value, after: &Value, path: &str, found: &mut Vec<Value>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => fields(before, after, path, found),
        _ if before == after => {}
        _ => found.push(json!({"op": "replace", "path": path, "value": after})),
    }
}

fn fields(before: &Map<String, Value>, after: &Map<String, Value>, path: &str, found: &mut Vec<Value>) {
    for (name, value) in before {
        let path = below(path, name);
        match after.get(name) {
            Some(after) => compare(value, after, &path, found),
            None => found.push(json!({"op": "remove", "path": path})),
        }
    }
    for (name, value) in after.iter().filter(|(name, _)| !before.contains_key(*name)) {
        found.push(json!({"op": "add", "path": below(path, name), "value": value}));
    }
}

/// Returns the JSON pointer of a field.
fn below(path: &str, name: &str) -> String {
    format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::{Patch, PatchKind};
    use proptest::prelude::*;

    fn values() -> impl Strategy<Value = Value> {
        let leaf =
            prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), (0..3).prop_map(Value::from)];
        leaf.prop_recursive(3, 24, 4, |inner| {
            let names = prop_oneof![Just("a"), Just("b"), Just("a/b"), Just("~"), Just("")];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::vec((names, inner), 0..4).prop_map(|fields| fields
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect()),
            ]
        })
    }

    fn objects() -> impl Strategy<Value = Value> {
        values().prop_map(|value| if value.is_object() { value } else { json!({"a": value}) })
    }

    proptest! {
        #[test]
        fn a_patch_gives_the_changed_object(before in objects(), after in objects()) {
            let patch = Value::from(operations(&before, &after)).to_string();
            let (patch, _) = Patch::read(PatchKind::Json, patch.as_bytes()).expect("a patch");
            prop_assert_eq!(patch.apply(&before, None).expect("applied"), after);
        }

        #[test]
        fn equal_objects_have_an_empty_patch(object in objects()) {
            prop_assert_eq!(operations(&object, &object), Vec::<Value>::new());
        }
    }
}
