//! Removes fields that their last owner no longer applies.

use std::collections::BTreeMap;

use serde_json::Value;

use super::entry::{Managed, Owned};
use super::of::{element_of, of};
use super::topology::{Root, field_of, items_of};
use super::{Deduced, FieldSet, ListMeta, ListType, PathElement, Write};

/// Removes the fields that were applied before, are not applied now, and have no other owner.
/// `last` is the set applied before, and `mine` the set applied now. Each set is used in its own
/// version; the object is of the version of the write, before and after.
pub(super) fn prune(
    merged: Value,
    last: &Owned,
    mine: &FieldSet,
    others: &Managed,
    write: &Write<'_>,
) -> Value {
    if last.set.is_empty() {
        return merged;
    }
    let mut owned = BTreeMap::from([(write.api_version, mine.clone())]);
    for other in others.values() {
        let set = owned.entry(other.api_version.as_str()).or_default();
        *set = std::mem::take(set).union(other.set.clone());
    }
    let home = last.api_version.as_str();
    let lists = |version: &str| write.lists_in(version).unwrap_or(Root(&Deduced));
    let merged = in_version(merged, home, write);
    let last = with_named(&last.set, &lists(home));
    let mut left = without(&merged, &last, &lists(home));
    // Fields with an owner are restored, with their parents; first in the version of the removal.
    let first = owned.remove_entry(home);
    for (version, owned) in first.into_iter().chain(owned) {
        let lists = lists(version);
        let all = in_version(merged.clone(), version, write);
        let kept = parts(&in_version(left, version, write), &lists).union(with_named(&owned, &lists));
        left = without(&all, &parts(&all, &lists).difference(&kept), &lists);
    }
    // Then the fields that the applier never owned.
    let kept = parts(&in_version(left, home, write), &lists(home));
    let gone = parts(&merged, &lists(home)).difference(&kept).intersection(&last);
    in_version(without(&merged, &gone, &lists(home)), write.api_version, write)
}

fn in_version(object: Value, version: &str, write: &Write<'_>) -> Value {
    if object["apiVersion"] == version { object } else { write.versions.converted(&object, version) }
}

/// Returns all fields of a value that can be owned.
fn parts(value: &Value, meta: &dyn ListMeta) -> FieldSet {
    with_named(&of(value, meta), meta)
}

/// The set, and the fields that the schema names and of which parts are in it. Fields that it does
/// not name are in a set themselves.
fn with_named(set: &FieldSet, meta: &dyn ListMeta) -> FieldSet {
    let mut out = FieldSet { members: set.members.clone(), ..FieldSet::default() };
    for (element, below) in &set.children {
        let below = match element {
            PathElement::Field(name) => {
                if meta.field(name).is_some() {
                    out.members.insert(element.clone());
                }
                with_named(below, field_of(meta, name))
            }
            PathElement::Key(_) => with_named(below, items_of(meta)),
            PathElement::Value(_) | PathElement::Index(_) => below.clone(),
        };
        out.children.insert(element.clone(), below);
    }
    out
}

/// Returns the value without the paths of the set. An atomic value is removed with any of its
/// parts, and a value whose parts are all removed becomes null.
fn without(value: &Value, set: &FieldSet, meta: &dyn ListMeta) -> Value {
    match value {
        Value::Object(fields) => {
            let parts = fields.iter().filter(|_| !meta.atomic_map()).filter_map(|(name, value)| {
                let element = PathElement::Field(name.clone());
                let value = less(value, &element, set, || field_of(meta, name))?;
                Some((name.clone(), value))
            });
            let parts: serde_json::Map<_, _> = parts.collect();
            if parts.is_empty() { Value::Null } else { Value::Object(parts) }
        }
        Value::Array(items) => {
            let parts = items.iter().filter(|_| meta.list_type() != ListType::Atomic).filter_map(|item| {
                match element_of(item, meta) {
                    Ok(element) => less(item, &element, set, || items_of(meta)),
                    Err(_) => Some(item.clone()),
                }
            });
            let parts: Vec<_> = parts.collect();
            if parts.is_empty() { Value::Null } else { Value::Array(parts) }
        }
        plain => plain.clone(),
    }
}

fn less<'a>(
    value: &Value,
    element: &PathElement,
    set: &FieldSet,
    meta: impl FnOnce() -> &'a dyn ListMeta,
) -> Option<Value> {
    if set.members.contains(element) {
        return None;
    }
    Some(match set.children.get(element) {
        Some(below) => without(value, below, meta()),
        None => value.clone(),
    })
}
