//! Applies a change of a typed view to the JSON object, and keeps fields that the type lacks.

use serde_json::Value;

/// Applies the differences between two states of a typed view to `object`; of the top-level fields
/// only those that count. All other values stay as they are: fields that the view does not have,
/// nulls that the view omits.
pub(super) fn carry(before: &Value, after: &Value, object: &mut Value, counts: &dyn Fn(&str) -> bool) {
    let (Value::Object(old), Value::Object(new), Value::Object(object)) = (before, after, &mut *object)
    else {
        if before != after {
            *object = after.clone();
        }
        return;
    };
    for name in old.keys().filter(|name| counts(name) && !new.contains_key(*name)) {
        object.remove(name);
    }
    for (name, value) in new.iter().filter(|(name, _)| counts(name)) {
        match (old.get(name), object.get_mut(name)) {
            (Some(old), _) if old == value => {}
            (Some(old), Some(there)) => carry(old, value, there, &|_| true),
            _ => drop(object.insert(name.clone(), value.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_changed_fields_are_carried_over() {
        let check = |before: Value, after: Value, object: Value, expected: Value| {
            let mut carried = object;
            carry(&before, &after, &mut carried, &|field| field != "metadata");
            assert_eq!(carried, expected);
        };
        check(json!({"a": 1}), json!({"a": 2}), json!({"a": 1, "more": [3]}), json!({"a": 2, "more": [3]}));
        check(json!({"a": 1}), json!({}), json!({"a": 1, "b": null}), json!({"b": null}));
        check(json!({"a": null}), json!({"a": {"b": 1}}), json!({}), json!({"a": {"b": 1}}));
        check(
            json!({"a": {"b": 1, "c": null}}),
            json!({"a": {"b": 1, "c": 2}}),
            json!({"a": {"b": 1, "x": 0}}),
            json!({"a": {"b": 1, "c": 2, "x": 0}}),
        );
        check(json!({"a": [1, 2]}), json!({"a": [1]}), json!({"a": [1, 2]}), json!({"a": [1]}));
        check(json!({"metadata": 1}), json!({"metadata": 2}), json!({"metadata": 1}), json!({"metadata": 1}));
    }
}
