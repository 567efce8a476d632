//! Computes the field set of a value.

use std::collections::BTreeMap;

use serde_json::Value;

use super::topology::{field_of, items_of};
use super::{FieldSet, ListMeta, ListType, Literal, PathElement};

/// The error of a list with duplicate keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unkeyed;

/// Returns the fields of a value that a manager can own: its leaves, the items of its lists, and
/// the entries of its maps. Items with duplicate keys have no owner.
pub(super) fn of(value: &Value, meta: &dyn ListMeta) -> FieldSet {
    let mut set = FieldSet::default();
    match value {
        Value::Object(fields) if !meta.atomic_map() => {
            for (name, value) in fields {
                let empty = value.is_null() || value.as_object().is_some_and(|fields| fields.is_empty());
                let field = field_of(meta, name);
                let itself = empty || meta.field(name).is_none() || is_leaf(value, field);
                set.merge_child(PathElement::Field(name.clone()), of(value, field), itself);
            }
        }
        Value::Array(items) => {
            let mut by_element = BTreeMap::<_, Vec<_>>::new();
            for item in items {
                if let Ok(element) = element_of(item, meta) {
                    by_element.entry(element).or_default().push(item);
                }
            }
            for (element, items) in by_element {
                // Duplicate items are owned as one.
                let below = match items.as_slice() {
                    [item] => of(item, items_of(meta)),
                    _ => FieldSet::default(),
                };
                set.merge_child(element, below, true);
            }
        }
        _ => {}
    }
    set
}

/// Returns whether a value is owned as one.
fn is_leaf(value: &Value, meta: &dyn ListMeta) -> bool {
    match value {
        Value::Object(_) => meta.atomic_map(),
        Value::Array(_) => meta.list_type() == ListType::Atomic,
        _ => true,
    }
}

/// The step to an item of a list of that type.
pub(super) fn element_of(item: &Value, list: &dyn ListMeta) -> Result<PathElement, Unkeyed> {
    match (list.list_type(), item) {
        (ListType::Set, Value::String(_) | Value::Number(_) | Value::Bool(_)) => {
            Ok(PathElement::Value(Literal::new(item.clone())))
        }
        (ListType::Map(mut names), Value::Object(fields)) => {
            names.sort_unstable();
            let item = items_of(list);
            let value = |name: &&str| {
                let default = || item.field(name).and_then(ListMeta::default_value);
                let value = fields.get(*name).or_else(default)?;
                Some(((*name).to_owned(), Literal::new(value.clone())))
            };
            let key: Vec<_> = names.iter().filter_map(value).collect();
            if key.is_empty() { Err(Unkeyed) } else { Ok(PathElement::Key(key)) }
        }
        _ => Err(Unkeyed),
    }
}
