//! What goes because nobody wants it any more.

use serde_json::Value;

use super::of::{element_of, of};
use super::topology::{field_of, items_of};
use super::{FieldSet, ListMeta, ListType, PathElement};

/// Takes away what was applied before, is not applied now, and is nobody's. `last` is what was applied before; `owned` is what
/// anybody owns, and what is applied now.
pub(super) fn prune(merged: Value, last: &FieldSet, owned: &FieldSet, meta: &dyn ListMeta) -> Value {
    if last.is_empty() {
        return merged;
    }
    let last = with_named(last, meta);
    let all = with_named(&of(&merged, meta), meta);
    let left = |value: &Value| with_named(&of(value, meta), meta);
    // What somebody owns comes back, with what it is in; and then what the applier never owned.
    let kept = left(&without(&merged, &last, meta)).union(with_named(owned, meta));
    let kept = left(&without(&merged, &all.clone().difference(&kept), meta));
    without(&merged, &all.difference(&kept).intersection(&last), meta)
}

/// The set, and the fields that the schema names and of which parts are in it. Fields that it does not name are in a set themselves.
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

/// The value without what is in the set. What is owned as one goes with any of its parts, and what has no parts left is null.
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
