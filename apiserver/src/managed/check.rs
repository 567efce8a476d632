//! Checks that the items of applied lists have unique keys.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};

use serde_json::Value;

use super::of::element_of;
use super::topology::{Root, field_of, items_of};
use super::{ListMeta, ListType};
use crate::bounded::short;

/// Fails with the first list that is owned by its items and has one that has no key, or two of one
/// key.
pub(crate) fn check_items(object: &Value, lists: &dyn ListMeta) -> Result<(), String> {
    check(object, &Root(lists), &CheckedPath { parent: None, step: &"" })
}

/// The way to a value, which is a text only in an error.
struct CheckedPath<'a> {
    parent: Option<&'a CheckedPath<'a>>,
    step: &'a dyn Display,
}

impl Display for CheckedPath<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            write!(f, "{parent}")?;
        }
        write!(f, "{}", self.step)
    }
}

fn check(value: &Value, meta: &dyn ListMeta, path: &CheckedPath<'_>) -> Result<(), String> {
    let below = |value: &Value, meta: &dyn ListMeta, step: &dyn Display| {
        check(value, meta, &CheckedPath { parent: Some(path), step })
    };
    match value {
        Value::Object(fields) => fields.iter().try_for_each(|(name, value)| {
            below(value, field_of(meta, name), &format_args!(".{}", short(name)))
        }),
        Value::Array(items) if meta.list_type() == ListType::Atomic => items
            .iter()
            .enumerate()
            .try_for_each(|(at, item)| below(item, items_of(meta), &format_args!("[{at}]"))),
        Value::Array(items) => {
            let mut known = BTreeSet::new();
            for (at, item) in items.iter().enumerate() {
                let element = element_of(item, meta)
                    .map_err(|_| format!("{path}: element {at}: it has no key, or is of the wrong type"))?;
                below(item, items_of(meta), &element)?;
                if known.contains(&element) {
                    return Err(format!("{path}: duplicate entries for key {element}"));
                }
                known.insert(element);
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
