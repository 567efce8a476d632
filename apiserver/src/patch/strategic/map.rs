//! Merging a patch into a map.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::directive::{Directive, Name, clean, clean_map, retain_keys};
use super::list::{delete_from, merge_list, merge_ordered};
use crate::patch::{FieldPatch, PatchMeta, Strategy};
use crate::refusal::Refusal;

/// The document with the patch, which is a map, merged into it.
pub(in crate::patch) fn apply(
    mut document: Value,
    patch: &Value,
    types: &dyn PatchMeta,
) -> Result<Value, Refusal> {
    if let (Value::Object(original), Value::Object(patch)) = (&mut document, patch) {
        merge_map(original, patch, Some(types))?;
    }
    Ok(document)
}

pub(super) fn merge_map(
    original: &mut Map<String, Value>,
    patch: &Map<String, Value>,
    types: Option<&dyn PatchMeta>,
) -> Result<(), Refusal> {
    match Directive::of(patch)? {
        Some(Directive::Replace) => *original = clean_map(patch)?,
        Some(Directive::Delete) => original.clear(),
        Some(Directive::Merge) | None => {
            retain_keys(original, patch)?;
            let done = merge_ordered_lists(original, patch, types)?;
            for (name, value) in patch {
                match Name::of(name)? {
                    Name::Field(name) if value.is_null() => drop(original.remove(name)),
                    Name::Field(name) if done.contains(name) => {}
                    Name::Field(name) => merge_field(original, name, value, types)?,
                    Name::Delete(name) => delete_from(original.get_mut(name), value)?,
                    Name::Order(_) | Name::Own => {}
                }
            }
        }
    }
    Ok(())
}

/// Merges the lists that have an order in the patch, and returns their names.
fn merge_ordered_lists<'a>(
    original: &mut Map<String, Value>,
    patch: &'a Map<String, Value>,
    types: Option<&dyn PatchMeta>,
) -> Result<BTreeSet<&'a str>, Refusal> {
    let mut done = BTreeSet::new();
    for (name, order) in patch {
        let Name::Order(name) = Name::of(name)? else { continue };
        let Value::Array(order) = order else {
            return Err(Refusal::bad_request("invalid patch format of setElementOrder list"));
        };
        let Some(FieldPatch { strategy: Strategy::Merge, merge_key, child }) = field(types, name) else {
            continue;
        };
        let patch = match patch.get(name) {
            Some(Value::Array(items)) => Some(items.as_slice()),
            None => None,
            Some(_) => continue,
        };
        if patch.is_some() {
            original.entry(name).or_insert_with(|| Value::Array(Vec::new()));
        }
        if let Some(Value::Array(items)) = original.get_mut(name) {
            merge_ordered(items, patch.unwrap_or_default(), order, merge_key, child)?;
            done.insert(name);
        }
    }
    Ok(done)
}

fn merge_field(
    original: &mut Map<String, Value>,
    name: &str,
    patch: &Value,
    types: Option<&dyn PatchMeta>,
) -> Result<(), Refusal> {
    let field = field(types, name);
    let strategy = field.map(|field| field.strategy).unwrap_or_default();
    let (merge_key, child) = field.map_or((None, None), |field| (field.merge_key, field.child));
    match (original.get_mut(name), patch) {
        (Some(Value::Object(original)), Value::Object(patch)) if strategy != Strategy::Replace => {
            merge_map(original, patch, child)
        }
        (Some(Value::Array(original)), Value::Array(patch)) if strategy == Strategy::Merge => {
            merge_list(original, patch, merge_key, child)
        }
        _ => {
            match clean(patch)? {
                Some(value) => original.insert(name.into(), value),
                None => original.remove(name),
            };
            Ok(())
        }
    }
}

fn field<'a>(types: Option<&'a dyn PatchMeta>, name: &str) -> Option<FieldPatch<'a>> {
    types.and_then(|types| types.field(name))
}
