//! Comparing objects without copying them.

use serde_json::{Map, Value};

/// Returns whether two maps are equal outside of some fields. Nothing is copied: every update calls
/// this.
pub(crate) fn same_but(fields: &[&str], a: &Map<String, Value>, b: &Map<String, Value>) -> bool {
    let others = |map: &Map<String, Value>| map.keys().filter(|key| !fields.contains(&key.as_str())).count();
    others(a) == others(b)
        && a.iter().all(|(key, value)| fields.contains(&key.as_str()) || b.get(key) == Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_the_named_fields_may_differ() {
        fn check(a: Value, b: Value, expected: bool) {
            let [left, right] = [&a, &b].map(|value| value.as_object().expect("an object"));
            assert_eq!(same_but(&["x", "y"], left, right), expected, "{a} {b}");
            assert_eq!(same_but(&["x", "y"], right, left), expected, "{b} {a}");
        }
        check(json!({}), json!({}), true);
        check(json!({"a": {"x": 1}}), json!({"a": {"x": 1}, "x": 2}), true);
        check(json!({"a": 1, "y": 1}), json!({"a": 1, "x": 2}), true);
        check(json!({"a": {"x": 1}}), json!({"a": {"x": 2}}), false);
        check(json!({"a": 1}), json!({"b": 1}), false);
        check(json!({"a": 1, "x": 1}), json!({"a": 1, "b": 1}), false);
        check(json!({"a": null}), json!({"x": null}), false);
    }
}
