//! Directives of a patch: names that begin with a dollar sign.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::patch::refused::rejected;
use crate::refusal::Refusal;

pub(super) const PATCH: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const DELETE: &str = "$deleteFromPrimitiveList";
const ORDER: &str = "$setElementOrder";

/// The meaning of a name in a patch.
pub(super) enum Name<'a> {
    Field(&'a str),
    /// `$deleteFromPrimitiveList/NAME`: items to delete from that list of scalars.
    Delete(&'a str),
    /// `$setElementOrder/NAME`: the order of that list.
    Order(&'a str),
    /// A directive of the map itself, and not of a field.
    Own,
}

/// The action on a map, or on the list of which it is an item.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Directive {
    Merge,
    Replace,
    Delete,
}

impl<'a> Name<'a> {
    pub(super) fn of(name: &'a str) -> Result<Self, Refusal> {
        let field = |rest: &'a str, what: &str| {
            let named = rest.strip_prefix('/');
            named.ok_or_else(|| Refusal::bad_request(format!("invalid patch format of {what}")))
        };
        match name {
            PATCH | RETAIN => Ok(Self::Own),
            _ => match (name.strip_prefix(DELETE), name.strip_prefix(ORDER)) {
                (Some(rest), _) => field(rest, "primitive list").map(Self::Delete),
                (_, Some(rest)) => field(rest, "setElementOrder list").map(Self::Order),
                _ => Ok(Self::Field(name)),
            },
        }
    }
}

impl Directive {
    /// The directive of a map, if it has one.
    pub(super) fn of(patch: &Map<String, Value>) -> Result<Option<Self>, Refusal> {
        match patch.get(PATCH) {
            None => Ok(None),
            Some(Value::String(text)) if text == "merge" => Ok(Some(Self::Merge)),
            Some(Value::String(text)) if text == "replace" => Ok(Some(Self::Replace)),
            Some(Value::String(text)) if text == "delete" => Ok(Some(Self::Delete)),
            Some(other) => {
                let patch = Value::Object(patch.clone());
                Err(rejected(format!("unknown patch type: {other} in map: {patch}")))
            }
        }
    }
}

/// Drops fields of a map that `$retainKeys` does not name. All fields that the patch sets must be
/// named.
pub(super) fn retain_keys(
    original: &mut Map<String, Value>,
    patch: &Map<String, Value>,
) -> Result<(), Refusal> {
    let Some(names) = patch.get(RETAIN) else { return Ok(()) };
    let malformed = || Refusal::bad_request("invalid patch format of retainKeys");
    let names = names.as_array().ok_or_else(malformed)?;
    let kept: BTreeSet<_> = names.iter().filter_map(Value::as_str).collect();
    for (name, value) in patch {
        if matches!(Name::of(name)?, Name::Field(name) if !value.is_null() && !kept.contains(name)) {
            return Err(malformed());
        }
    }
    original.retain(|name, _| kept.contains(name.as_str()));
    Ok(())
}

/// Returns a patch value that has no counterpart to merge into: without nulls, directives, and
/// deleted items. `None` if that is the value itself.
pub(super) fn clean(value: &Value) -> Result<Option<Value>, Refusal> {
    match value {
        Value::Object(fields) => match Directive::of(fields)? {
            Some(Directive::Delete) => Ok(None),
            _ => clean_map(fields).map(|fields| Some(Value::Object(fields))),
        },
        Value::Array(items) => clean_list(items).map(|items| Some(Value::Array(items))),
        other => Ok(Some(other.clone())),
    }
}

/// The same for the fields of a map, ignoring its own directive.
pub(super) fn clean_map(fields: &Map<String, Value>) -> Result<Map<String, Value>, Refusal> {
    let mut kept = Map::new();
    for (name, value) in fields {
        if let (Name::Field(_), false) = (Name::of(name)?, value.is_null())
            && let Some(value) = clean(value)?
        {
            kept.insert(name.clone(), value);
        }
    }
    Ok(kept)
}

/// The same for the items of a list: an item with a directive concerns the list, and is not an
/// item.
pub(super) fn clean_list(items: &[Value]) -> Result<Vec<Value>, Refusal> {
    let mut kept = Vec::with_capacity(items.len());
    for item in items {
        if let Value::Object(fields) = item
            && Directive::of(fields)?.is_some()
        {
            continue;
        }
        kept.extend(clean(item)?);
    }
    Ok(kept)
}
