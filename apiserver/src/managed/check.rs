//! Checks that the items of applied lists have unique keys.

use std::collections::BTreeSet;

use serde_json::Value;

use super::of::element_of;
use super::topology::{Root, field_of, items_of};
use super::{ListMeta, ListType};

/// Fails with the first list that is owned by its items and has one that has no key, or two of one
/// key.
pub(crate) fn check_items(object: &Value, lists: &dyn ListMeta) -> Result<(), String> {
    check(object, &Root(lists), "")
}

fn check(value: &Value, meta: &dyn ListMeta, path: &str) -> Result<(), String> {
    match value {
        Value::Object(fields) => fields
            .iter()
            .try_for_each(|(name, value)| check(value, field_of(meta, name), &format!("{path}.{name}"))),
        Value::Array(items) if meta.list_type() == ListType::Atomic => items
            .iter()
            .enumerate()
            .try_for_each(|(at, item)| check(item, items_of(meta), &format!("{path}[{at}]"))),
        Value::Array(items) => {
            let mut known = BTreeSet::new();
            for (at, item) in items.iter().enumerate() {
                let element = element_of(item, meta)
                    .map_err(|_| format!("{path}: element {at}: it has no key, or is of the wrong type"))?;
                check(item, items_of(meta), &format!("{path}{element}"))?;
                let text = element.to_string();
                if !known.insert(element) {
                    return Err(format!("{path}: duplicate entries for key {text}"));
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
