//! Merge patches, RFC 7386.

use serde_json::{Map, Value};

/// The document with the patch merged into it.
pub(super) fn apply(mut document: Value, patch: &Value) -> Value {
    merge(&mut document, patch);
    document
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = without_nulls(patch);
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else { return };
    for (name, value) in patch {
        if value.is_null() {
            target.remove(name);
        } else {
            merge(target.entry(name).or_insert(Value::Null), value);
        }
    }
}

/// A list of the patch replaces the old list; but as in Kubernetes, and unlike the RFC, nulls in
/// its objects are removed.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(name, value)| (name.clone(), without_nulls(value))).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::{apply, without_nulls};
    use crate::patch::arbitrary::{object, value};

    fn check(document: Value, patch: Value, expected: Value) {
        assert_eq!(apply(document, &patch), expected, "{patch}");
    }

    /// The examples of RFC 7386, appendix A, that patch an object with an object.
    #[test]
    fn examples_of_the_rfc() {
        check(json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"}));
        check(json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"}));
        check(json!({"a": "b"}), json!({"a": null}), json!({}));
        check(json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"}));
        check(json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"}));
        check(json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]}));
        check(json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}}));
        check(json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]}));
        check(json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1}));
        check(json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}}));
    }

    #[test]
    fn nulls_in_lists_of_objects_are_dropped() {
        check(json!({}), json!({"a": [{"b": null, "c": 1}, null]}), json!({"a": [{"c": 1}, null]}));
    }

    /// The patch from one object to another, neither of which has nulls in objects.
    fn patch_between(from: &Map<String, Value>, to: &Map<String, Value>) -> Map<String, Value> {
        let gone = from.keys().filter(|name| !to.contains_key(*name)).map(|name| (name.clone(), Value::Null));
        let changed = to.iter().filter_map(|(name, value)| {
            let patch = match (from.get(name), value) {
                (Some(old), new) if old == new => return None,
                (Some(Value::Object(old)), Value::Object(new)) => Value::Object(patch_between(old, new)),
                _ => value.clone(),
            };
            Some((name.clone(), patch))
        });
        gone.chain(changed).collect()
    }

    proptest! {
        #[test]
        fn a_patch_applied_twice_is_the_patch_applied_once(document in object(), patch in object()) {
            let once = apply(document, &patch);
            prop_assert_eq!(apply(once.clone(), &patch), once);
        }

        #[test]
        fn the_empty_patch_changes_nothing(document in object()) {
            prop_assert_eq!(apply(document.clone(), &json!({})), document);
        }

        #[test]
        fn a_diff_applied_as_a_patch_gives_the_target(from in object(), to in object()) {
            let (from, to) = (without_nulls(&from), without_nulls(&to));
            let patch = patch_between(from.as_object().unwrap(), to.as_object().unwrap());
            prop_assert_eq!(apply(from, &Value::Object(patch)), to);
        }

        #[test]
        fn a_patch_of_nothing_is_itself_without_nulls(document in value(), patch in object()) {
            let made = apply(json!({"a": document}), &json!({"a": null, "b": patch.clone()}));
            prop_assert_eq!(made, json!({"b": without_nulls(&patch)}));
        }
    }
}
