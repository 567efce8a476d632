//! Compares two objects field by field.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::of::{Unkeyed, element_of};
use super::topology::{field_of, items_of};
use super::{FieldSet, ListMeta, ListType, PathElement};

/// The added, changed and removed fields. A path may be in two of the sets if a list had or has
/// duplicate items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Comparison {
    /// Paths that there were not.
    pub(crate) added: FieldSet,
    /// Paths that were and are there, with another value.
    pub(crate) modified: FieldSet,
    /// Paths that no longer exist.
    pub(crate) removed: FieldSet,
}

impl Comparison {
    /// Removes from a manager's set the fields that another manager changed, and fields that no
    /// longer exist.
    pub(super) fn take_from(&self, set: &mut FieldSet) {
        *set =
            std::mem::take(set).difference(&self.modified).difference(&self.added).difference(&self.removed);
    }
}

/// Compares two objects. Fails if an associative list has duplicate keys.
pub(crate) fn compare(old: &Value, new: &Value, meta: &dyn ListMeta) -> Result<Comparison, Unkeyed> {
    visit(Some(old), Some(new), meta).map(|found| found.below)
}

/// The differences of a value: the value itself, and the fields below it.
#[derive(Default)]
struct ValueDifference {
    added: bool,
    modified: bool,
    removed: bool,
    below: Comparison,
}

impl Comparison {
    fn put(&mut self, element: impl FnOnce() -> PathElement, found: ValueDifference) {
        let ValueDifference { added, modified, removed, below } = found;
        let sets = [&below.added, &below.modified, &below.removed];
        if !added && !modified && !removed && sets.into_iter().all(FieldSet::is_empty) {
            return;
        }
        let element = element();
        for (set, below, itself) in [
            (&mut self.added, below.added, added),
            (&mut self.modified, below.modified, modified),
            (&mut self.removed, below.removed, removed),
        ] {
            if itself || !below.is_empty() {
                set.merge_child(element.clone(), below, itself);
            }
        }
    }
}

/// The common type of two values. Null matches any type.
#[derive(Clone, Copy)]
enum CommonType {
    Leaf,
    Map,
    List,
    Different,
}

fn visit(old: Option<&Value>, new: Option<&Value>, meta: &dyn ListMeta) -> Result<ValueDifference, Unkeyed> {
    let (added, removed) = (old.is_none() && new.is_some(), old.is_some() && new.is_none());
    let shape = shape(old, new, meta);
    let below = below(shape, old, new, meta)?;
    let modified = match shape {
        CommonType::Leaf => !added && !removed && old != new,
        CommonType::Different => true,
        CommonType::Map | CommonType::List => false,
    };
    Ok(ValueDifference { added, modified, removed, below })
}

fn below(
    shape: CommonType,
    old: Option<&Value>,
    new: Option<&Value>,
    meta: &dyn ListMeta,
) -> Result<Comparison, Unkeyed> {
    match shape {
        CommonType::Map => fields(old.and_then(Value::as_object), new.and_then(Value::as_object), meta),
        CommonType::List => items(list(old), list(new), meta),
        CommonType::Leaf => Ok(Comparison::default()),
        CommonType::Different => {
            let gone = below(self::shape(old, None, meta), old, None, meta)?;
            let new = below(self::shape(None, new, meta), None, new, meta)?;
            Ok(Comparison { added: new.added, removed: gone.removed, ..Comparison::default() })
        }
    }
}

fn fields(
    old: Option<&Map<String, Value>>,
    new: Option<&Map<String, Value>>,
    meta: &dyn ListMeta,
) -> Result<Comparison, Unkeyed> {
    let known = |name: &str| old.is_some_and(|old| old.contains_key(name));
    let in_old = old.into_iter().flat_map(Map::keys);
    let in_new = new.into_iter().flat_map(Map::keys).filter(|name| !known(name));
    let mut out = Comparison::default();
    for name in in_old.chain(in_new) {
        let meta = field_of(meta, name);
        let found = visit(field(old, name, meta), field(new, name, meta), meta)?;
        out.put(|| PathElement::Field(name.clone()), found);
    }
    Ok(out)
}

fn items(old: &[Value], new: &[Value], meta: &dyn ListMeta) -> Result<Comparison, Unkeyed> {
    let mut by_element = BTreeMap::<_, [Vec<&Value>; 2]>::new();
    for (side, items) in [old, new].into_iter().enumerate() {
        for item in items {
            by_element.entry(element_of(item, meta)?).or_default()[side].push(item);
        }
    }
    let mut out = Comparison::default();
    for (element, [old, new]) in by_element {
        out.put(|| element, same_items(&old, &new, items_of(meta))?);
    }
    Ok(out)
}

/// Items that are owned under one step: one on each side, or more, which are owned as one.
fn same_items(old: &[&Value], new: &[&Value], meta: &dyn ListMeta) -> Result<ValueDifference, Unkeyed> {
    match (old, new) {
        ([] | [_], [] | [_]) => visit(old.first().copied(), new.first().copied(), meta),
        ([], _) => Ok(ValueDifference { added: true, ..ValueDifference::default() }),
        ([old], _) => Ok(ValueDifference { added: true, ..visit(Some(*old), None, meta)? }),
        (_, []) => Ok(ValueDifference { removed: true, ..ValueDifference::default() }),
        (_, [new]) => Ok(ValueDifference { removed: true, ..visit(None, Some(*new), meta)? }),
        _ => Ok(ValueDifference { modified: old != new, ..ValueDifference::default() }),
    }
}

fn shape(old: Option<&Value>, new: Option<&Value>, meta: &dyn ListMeta) -> CommonType {
    let values = || [old, new].into_iter().flatten().filter(|value| !value.is_null());
    let all = |is: fn(&Value) -> bool| values().next().is_some() && values().all(is);
    // Two that have nothing in them differ as a whole: one is there, or null, and the other is not.
    if all(Value::is_object) {
        let empty = values().all(|value| value.as_object().is_none_or(Map::is_empty));
        return if empty || meta.atomic_map() { CommonType::Leaf } else { CommonType::Map };
    }
    if all(Value::is_array) {
        let empty = values().all(|value| value.as_array().is_none_or(Vec::is_empty));
        return if empty || meta.list_type() == ListType::Atomic {
            CommonType::Leaf
        } else {
            CommonType::List
        };
    }
    let container = values().any(|value| value.is_object() || value.is_array());
    if container { CommonType::Different } else { CommonType::Leaf }
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn field<'a>(fields: Option<&'a Map<String, Value>>, name: &str, meta: &dyn ListMeta) -> Option<&'a Value> {
    fields?.get(name).or_else(|| meta.always_there())
}
