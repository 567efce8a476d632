//! The order of a merged list: by the patch's `$setElementOrder`, and the old positions of items
//! that it does not name.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::patch::refused::rejected;
use crate::refusal::Refusal;

/// The identity of an item: its merge key's value, or the item itself.
pub(super) type ItemIdentity = String;

/// The position of each item; of duplicates, the first.
pub(super) type Places = BTreeMap<ItemIdentity, usize>;

pub(super) fn identity(item: &Value, merge_key: Option<&str>) -> Result<ItemIdentity, Refusal> {
    match (item, merge_key) {
        (Value::Object(fields), Some(key)) => fields
            .get(key)
            .map(Value::to_string)
            .ok_or_else(|| rejected(format!("map: {item} does not contain declared merge key: {key}"))),
        (Value::Object(_), None) => Err(rejected("cannot merge lists without merge key")),
        (Value::Array(_), _) => Err(rejected("lists of lists are not supported")),
        (_, Some(_)) | (Value::Null, None) => Err(rejected("list element types are not identical")),
        (scalar, None) => Ok(scalar.to_string()),
    }
}

pub(super) fn places(items: &[Value], merge_key: Option<&str>) -> Result<Places, Refusal> {
    let mut places = Places::new();
    for (at, item) in items.iter().enumerate() {
        places.entry(identity(item, merge_key)?).or_insert(at);
    }
    Ok(places)
}

/// Sorts the items that `wanted` names into its order, and inserts the others: in the order of
/// `before`, each in front of the item that it preceded there.
pub(super) fn arrange(items: Vec<(ItemIdentity, Value)>, wanted: &Places, before: &Places) -> Vec<Value> {
    let (mut placed, mut others): (Vec<_>, Vec<_>) =
        items.into_iter().partition(|(identity, _)| wanted.contains_key(identity));
    placed.sort_by_key(|(identity, _)| wanted.get(identity).copied());
    others.sort_by_key(|(identity, _)| before.get(identity).copied().unwrap_or(usize::MAX));
    let mut others = others.into_iter().peekable();
    let mut arranged = Vec::with_capacity(placed.len() + others.len());
    for (identity, item) in placed {
        if let Some(place) = before.get(&identity) {
            let in_front =
                |(other, _): &(ItemIdentity, Value)| before.get(other).is_some_and(|at| at < place);
            while let Some((_, other)) = others.next_if(in_front) {
                arranged.push(other);
            }
        }
        arranged.push(item);
    }
    arranged.extend(others.map(|(_, item)| item));
    arranged
}
