//! Correlation of values with their old states: by name in objects, by keys in lists of type map,
//! and nowhere else.

use std::collections::BTreeMap;

use serde_json::Value;

use super::node::{DeclaredListType, Schema};

/// Returns whether a value is as it was. A list that is a map may be in another order.
pub(super) fn same(schema: &Schema, new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Array(new), Value::Array(before)) if schema.list == Some(DeclaredListType::Map) => {
            let items = OldItems::of(schema, Some(old));
            let each = |item| {
                let kept = items.like(item);
                kept.zip(schema.items.as_deref()).is_some_and(|(old, schema)| same(schema, item, old))
            };
            new == before || (new.len() == before.len() && new.iter().all(each))
        }
        (Value::Object(new), Value::Object(old)) => {
            let is_same = |name: &String, field: &Value| {
                old.get(name).is_some_and(|old| match schema.field(name) {
                    Some(schema) => same(schema, field, old),
                    None => field == old,
                })
            };
            new.len() == old.len() && new.iter().all(|(name, field)| is_same(name, field))
        }
        (new, old) => new == old,
    }
}

/// The items of a list as it was, by their keys.
pub(super) struct OldItems<'a> {
    keys: &'a [String],
    items: BTreeMap<String, &'a Value>,
}

impl<'a> OldItems<'a> {
    pub(super) fn of(schema: &'a Schema, old: Option<&'a Value>) -> Self {
        let keys = &schema.list_keys;
        let mut items = BTreeMap::new();
        if let (Some(DeclaredListType::Map), Some(Value::Array(old))) = (schema.list, old) {
            for item in old {
                if let Some(key) = composite(keys, item) {
                    items.entry(key).or_insert(item);
                }
            }
        }
        Self { keys, items }
    }

    /// Returns the old state of an item.
    pub(super) fn like(&self, item: &Value) -> Option<&'a Value> {
        if self.items.is_empty() {
            return None;
        }
        self.items.get(&composite(self.keys, item)?).copied()
    }
}

/// The values of all keys as one text. Only scalars are keys.
fn composite(keys: &[String], item: &Value) -> Option<String> {
    let mut composite = String::new();
    for key in keys {
        match item.get(key)? {
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
            scalar => composite.push_str(&scalar.to_string()),
        }
        composite.push('\0');
    }
    Some(composite)
}
