//! Warnings about metadata that is allowed and unwise.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::names::label_key;
use super::validate::texts;

/// Finalizers of the garbage collector and of namespaces.
const PLAIN: [&str; 3] = ["orphan", "foregroundDeletion", "kubernetes"];

/// Maximum number of warnings about finalizers: each is a response header.
const MAX_TOLD: usize = 20;

/// Warnings about finalizers that a custom resource has now and had not before.
pub(crate) fn finalizer_warnings(new: &Map<String, Value>, old: Option<&Map<String, Value>>) -> Vec<String> {
    let known: BTreeSet<&str> = old.into_iter().flat_map(|old| texts(old, "finalizers")).collect();
    let added: BTreeSet<&str> = texts(new, "finalizers").filter(|name| !known.contains(name)).collect();
    let mut warnings = Vec::new();
    for name in added.into_iter().take(MAX_TOLD) {
        let warn = |why: &str| format!("metadata.finalizers: {name:?}: {why}");
        warnings.extend(label_key(name).iter().map(|why| warn(why)));
        if !name.contains('/') && !PLAIN.contains(&name) {
            let path = if name.contains('.') { " including a path (/)" } else { "" };
            warnings.push(warn(&format!(
                "prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other finalizer writers"
            )));
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(new: Value, old: Value, expected: &[&str]) {
        let (Value::Object(new), Value::Object(old)) =
            (json!({"finalizers": new}), json!({"finalizers": old}))
        else {
            panic!("these are objects")
        };
        assert_eq!(finalizer_warnings(&new, Some(&old)), expected);
    }

    #[test]
    fn finalizers() {
        check(json!(["orphan", "example.com/x", "kubernetes"]), json!([]), &[]);
        check(json!(["mine"]), json!(["mine"]), &[]);
        check(
            json!(["mine", "example.com"]),
            json!([]),
            &[
                "metadata.finalizers: \"example.com\": prefer a domain-qualified finalizer name including a path (/) to avoid \
                 accidental conflicts with other finalizer writers",
                "metadata.finalizers: \"mine\": prefer a domain-qualified finalizer name to avoid accidental conflicts with \
                 other finalizer writers",
            ],
        );
    }
}
