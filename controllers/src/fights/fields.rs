//! The fields that differ between two states of an object, and their field managers. Pure.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;
use machinery_objects::Traceparent;
use serde_json::{Map, Value};

/// Returns the JSON document of an object; `None` if it cannot be encoded.
pub(crate) type DocumentOf<T> = fn(&T) -> Option<Value>;

/// The changed fields of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChangedFields {
    pub(super) fields: BTreeMap<String, ChangedField>,
}

/// A changed field: hashes of its two values, and its field manager afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChangedField {
    pub(super) before: u64,
    pub(super) after: u64,
    pub(super) manager: Option<String>,
}

/// Limit of the fields of a change. A fight is over few.
const FIELDS: usize = 64;
/// Limit of the depth of a path; deeper values are compared as a whole.
const DEPTH: usize = 16;
/// Fields of `metadata` that the server changes with every write.
const SERVER_FIELDS: [&str; 4] = ["resourceVersion", "generation", "managedFields", "uid"];

impl ChangedFields {
    /// Compares two states.
    pub(crate) fn between(old: &Value, new: &Value) -> Self {
        let mut found = Self::default();
        found.compare(&mut Vec::new(), Some(old), Some(new));
        for (path, field) in &mut found.fields {
            field.manager = manager_of(new, path);
        }
        found
    }

    fn compare(&mut self, path: &mut Vec<String>, old: Option<&Value>, new: Option<&Value>) {
        if old == new || self.fields.len() >= FIELDS || is_of_server(path) {
            return;
        }
        match (old, new) {
            (Some(Value::Object(old)), Some(Value::Object(new))) if path.len() < DEPTH => {
                let only_new = new.keys().filter(|name| !old.contains_key(*name));
                for name in old.keys().chain(only_new) {
                    path.push(name.clone());
                    self.compare(path, old.get(name), new.get(name));
                    path.pop();
                }
            }
            _ => {
                let field = ChangedField { before: hash(old), after: hash(new), manager: None };
                self.fields.insert(path.join("."), field);
            }
        }
    }
}

/// Returns whether the server changes a field by itself.
fn is_of_server(path: &[String]) -> bool {
    match path {
        [metadata, field] => metadata == "metadata" && SERVER_FIELDS.contains(&field.as_str()),
        [metadata, annotations, name] => {
            metadata == "metadata" && annotations == "annotations" && name == Traceparent::ANNOTATION
        }
        _ => false,
    }
}

fn hash(value: Option<&Value>) -> u64 {
    let mut hasher = FixedState::with_seed(0).build_hasher();
    // An absent field and null mean the same to a server.
    match value {
        None | Some(Value::Null) => hasher.write_u8(0),
        Some(value) => hasher.write(value.to_string().as_bytes()),
    }
    hasher.finish()
}

/// Returns the field manager that owns a field, and wrote last of those that own it.
fn manager_of(document: &Value, path: &str) -> Option<String> {
    let entries = document.pointer("/metadata/managedFields")?.as_array()?;
    let owners = entries.iter().filter(|entry| entry.get("fieldsV1").is_some_and(|of| owns(of, path)));
    let last = owners.max_by_key(|entry| entry.get("time").and_then(Value::as_str).unwrap_or_default())?;
    Some(last.get("manager")?.as_str()?.to_owned())
}

/// Returns whether a field set contains a path, or an ancestor without named parts.
fn owns(set: &Value, path: &str) -> bool {
    let Some(set) = set.as_object() else { return false };
    // Names of annotations and labels contain dots: each name of the set is tried as a prefix.
    set.iter().any(|(name, below)| {
        let Some(name) = name.strip_prefix("f:") else { return false };
        let Some(rest) = path.strip_prefix(name) else { return false };
        match rest.strip_prefix('.') {
            None => rest.is_empty(),
            Some(rest) => {
                below.as_object().is_some_and(Map::is_empty) || owns(below, rest) || has_items(below)
            }
        }
    })
}

/// Returns whether a field set lists items of a list, which paths do not go into.
fn has_items(set: &Value) -> bool {
    set.as_object().is_some_and(|set| set.keys().any(|name| name.starts_with("k:") || name.starts_with("v:")))
}
