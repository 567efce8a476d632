//! Uniqueness in lists: of the items of a set, and of the keys of a map.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::node::{Additional, DeclaredListType, Schema};
use super::path::ValuePath;
use crate::bounded::FieldErrors;
use crate::invalid::{FieldError, Problem};

/// Returns the duplicates in the lists of a value at a field.
pub(super) fn check(schema: &Schema, value: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = FieldErrors::default();
    walk(schema, value, &ValuePath::start(at), &mut errors);
    errors.into_list()
}

fn walk(schema: &Schema, value: &Value, path: &ValuePath<'_>, errors: &mut FieldErrors) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match (schema.properties.get(name), &schema.additional) {
                    (Some(property), _) => walk(property, field, &path.field(name), errors),
                    (None, Some(Additional::Of(each))) => walk(each, field, &path.key(name), errors),
                    _ => {}
                }
            }
        }
        Value::Array(items) => {
            match schema.list {
                Some(DeclaredListType::Set) => {
                    for i in repeated(items.iter().map(Value::to_string)) {
                        errors.add(|| duplicate(path, i, items[i].clone()));
                    }
                }
                Some(DeclaredListType::Map) => map(&schema.list_keys, items, path, errors),
                _ => {}
            }
            if let Some(each) = &schema.items {
                for (i, item) in items.iter().enumerate() {
                    walk(each, item, &path.index(i), errors);
                }
            }
        }
        _ => {}
    }
}

fn map(keys: &[String], items: &[Value], path: &ValuePath<'_>, errors: &mut FieldErrors) {
    let stray = items.iter().position(|item| !item.is_null() && !item.is_object());
    if let Some(i) = stray {
        let at = path.index(i).to_string();
        let detail = "must be an object for an array of list-type map";
        errors.push(FieldError::new(at, Problem::Invalid(items[i].clone()), detail));
        return;
    }
    let key = |item: &Value| {
        let present = keys.iter().filter_map(|key| Some((key.clone(), item.get(key)?.clone())));
        Value::Object(present.collect::<Map<_, _>>())
    };
    for i in repeated(items.iter().map(|item| key(item).to_string())) {
        errors.add(|| duplicate(path, i, key(&items[i])));
    }
}

/// Returns the position of the first repetition of each duplicate.
fn repeated(keys: impl Iterator<Item = String>) -> Vec<usize> {
    let mut times = BTreeMap::new();
    let mut second = Vec::new();
    for (i, key) in keys.enumerate() {
        let times = times.entry(key).or_insert(0_u32);
        *times = times.saturating_add(1);
        if *times == 2 {
            second.push(i);
        }
    }
    second
}

fn duplicate(path: &ValuePath<'_>, index: usize, value: Value) -> FieldError {
    FieldError::new(path.index(index).to_string(), Problem::Duplicate(value), "")
}
