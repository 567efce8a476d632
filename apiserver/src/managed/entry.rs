//! The entries of `metadata.managedFields`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{FieldSet, MalformedFields};
use crate::meta::time::shown;

/// The managers of an object and the fields that each owns.
pub(super) type Managed = BTreeMap<Manager, Owned>;

/// The key of an entry of `managedFields`: manager, operation and, for updates, version. A manager
/// that applies has one entry for all versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Manager {
    pub(super) applied: bool,
    pub(super) name: String,
    /// Empty if applied.
    pub(super) api_version: String,
    /// Empty if none.
    pub(super) subresource: String,
}

/// The fields of one manager.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Owned {
    pub(super) set: FieldSet,
    pub(super) api_version: String,
    /// The time of the write in UTC, to the second, so that texts sort by time. Empty if unknown.
    pub(super) time: String,
}

/// Reads entries; nothing and null are none.
pub(super) fn decode(entries: Option<&Value>) -> Result<Managed, MalformedFields> {
    match entries {
        None | Some(Value::Null) => Ok(Managed::new()),
        Some(Value::Array(entries)) => entries.iter().map(decode_one).collect(),
        Some(_) => Err(MalformedFields),
    }
}

/// Encodes entries in Kubernetes' order: applies first, then by time.
pub(super) fn encode(managed: &Managed) -> Value {
    let mut entries: Vec<_> = managed.iter().collect();
    entries.sort_by_key(|(manager, owned)| {
        (!manager.applied, &owned.time, &manager.name, &owned.api_version, &manager.subresource)
    });
    entries.into_iter().map(|(manager, owned)| encode_one(manager, owned)).collect()
}

fn decode_one(entry: &Value) -> Result<(Manager, Owned), MalformedFields> {
    let entry = entry.as_object().ok_or(MalformedFields)?;
    let applied = match text(entry, "operation")? {
        "Apply" => true,
        "Update" => false,
        _ => return Err(MalformedFields),
    };
    let api_version = text(entry, "apiVersion")?;
    if api_version.is_empty() || text(entry, "fieldsType")? != "FieldsV1" {
        return Err(MalformedFields);
    }
    let set = entry.get("fieldsV1").map(FieldSet::from_json).transpose()?.unwrap_or_default();
    let manager = Manager {
        applied,
        name: text(entry, "manager")?.into(),
        api_version: if applied { String::new() } else { api_version.into() },
        subresource: text(entry, "subresource")?.into(),
    };
    Ok((manager, Owned { set, api_version: api_version.into(), time: time(entry)? }))
}

fn encode_one(manager: &Manager, owned: &Owned) -> Value {
    let operation = if manager.applied { "Apply" } else { "Update" };
    let texts = [
        ("manager", manager.name.as_str()),
        ("operation", operation),
        ("apiVersion", &owned.api_version),
        ("time", &owned.time),
        ("fieldsType", "FieldsV1"),
        ("subresource", &manager.subresource),
    ];
    let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
    let mut entry: Map<String, Value> = texts.map(|(name, text)| (name.to_owned(), text.into())).collect();
    entry.insert("fieldsV1".into(), owned.set.to_json());
    Value::Object(entry)
}

/// Returns a string field of an entry; empty if omitted.
fn text<'a>(entry: &'a Map<String, Value>, name: &str) -> Result<&'a str, MalformedFields> {
    match entry.get(name) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(MalformedFields),
    }
}

fn time(entry: &Map<String, Value>) -> Result<String, MalformedFields> {
    match entry.get("time") {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => {
            let time: Timestamp = text.parse().map_err(|_| MalformedFields)?;
            Ok(shown(time))
        }
        Some(_) => Err(MalformedFields),
    }
}
