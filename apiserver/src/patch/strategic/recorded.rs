//! Compares strategic merges with those recorded from apimachinery 1.37.

use crate::patch::apply::apply;
use serde_json::{Map, Value};

use super::tests::Types;
use crate::patch::PatchKind;

/// The tags of the type that was merged.
fn types() -> Types {
    let container = Types::default()
        .with("name", "", None, Types::default())
        .with("image", "", None, Types::default())
        .with("env", "merge", Some("name"), Types::default())
        .with("args", "", None, Types::default())
        .with("resources", "", None, Types::default());
    Types::default()
        .with("containers", "merge", Some("name"), container)
        .with("volumes", "merge,retainKeys", Some("name"), Types::default())
        .with("finalizers", "merge", None, Types::default())
        .with("strategy", "retainKeys", None, Types::default())
        .with("selector", "replace", None, Types::default())
        .with("labels", "", None, Types::default())
}

/// Removes nulls, as the encoding of a typed value does.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        Value::Object(fields) => {
            let there = fields.iter().filter(|(_, value)| !value.is_null());
            let fields: Map<_, _> = there.map(|(name, value)| (name.clone(), without_nulls(value))).collect();
            fields.into()
        }
        other => other.clone(),
    }
}

/// Patches as kubectl makes them from two and from three documents, and random ones. Each case has
/// a result or an error. Left out is where we differ: kubernetes leaves directives and nulls in
/// items that are new, drops a map with `$patch: replace` where there is none yet, and fails on
/// empty lists in an order.
#[test]
fn strategic_merges_equal_those_of_kubernetes() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("recorded.json")).unwrap();
    let mut failed = Vec::new();
    for case in cases {
        let patch = case["patch"].to_string();
        let patched = apply(PatchKind::Strategic, &case["document"], patch.as_bytes(), Some(&types()));
        let expected = case.get("result").cloned();
        if patched.clone().ok().map(|made| without_nulls(&made)) != expected {
            failed.push(format!("{case}\n  {patched:?}"));
        }
    }
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}
