//! Merging a patch into a list.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::directive::{Directive, clean_list, clean_map};
use super::map::merge_map;
use super::order::{Places, arrange, identity, places};
use crate::patch::PatchMeta;
use crate::patch::refused::rejected;
use crate::refusal::Refusal;

/// Merges items of a patch into a list. Items of the patch keep the patch's order.
pub(super) fn merge_list(
    original: &mut Vec<Value>,
    patch: &[Value],
    merge_key: Option<&str>,
    types: Option<&dyn PatchMeta>,
) -> Result<(), Refusal> {
    let before = places(original, merge_key)?;
    let wanted = merge_items(original, patch, merge_key, types)?;
    reorder(original, merge_key, &wanted, &before)
}

/// Merges with an order given for more items than those of the patch. As in Kubernetes, new items
/// then follow the items that the order does not name, but fill the positions of deleted items
/// first and count as old there.
pub(super) fn merge_ordered(
    original: &mut Vec<Value>,
    patch: &[Value],
    order: &[Value],
    merge_key: Option<&str>,
    types: Option<&dyn PatchMeta>,
) -> Result<(), Refusal> {
    let wanted = places(order, merge_key)?;
    same_order(patch, order, &wanted, merge_key)?;
    let room = original.len();
    merge_items(original, patch, merge_key, types)?;
    let before = places(original.get(..room).unwrap_or(original), merge_key)?;
    reorder(original, merge_key, &wanted, &before)
}

/// Removes scalars from a list, if there is one.
pub(super) fn delete_from(original: Option<&mut Value>, gone: &Value) -> Result<(), Refusal> {
    let malformed = || Refusal::bad_request("invalid patch format of primitive list");
    let gone = gone.as_array().ok_or_else(malformed)?;
    if gone.iter().any(|item| item.is_object() || item.is_array()) {
        return Err(malformed());
    }
    if let Some(Value::Array(items)) = original {
        let gone: BTreeSet<_> = gone.iter().map(Value::to_string).collect();
        items.retain(|item| item.is_object() || item.is_array() || !gone.contains(&item.to_string()));
    }
    Ok(())
}

/// Merges without an order, and returns the positions of the patch's items.
fn merge_items(
    original: &mut Vec<Value>,
    patch: &[Value],
    merge_key: Option<&str>,
    types: Option<&dyn PatchMeta>,
) -> Result<Places, Refusal> {
    let (patch, replaced) = directives(original, patch, merge_key)?;
    if replaced {
        *original = clean_list(&patch.into_iter().cloned().collect::<Vec<_>>())?;
        return places(original, merge_key);
    }
    let mut at = places(original, merge_key)?;
    if merge_key.is_none() {
        let mut seen = BTreeSet::new();
        original.retain(|item| seen.insert(item.to_string()));
        at = places(original, merge_key)?;
    }
    let mut wanted = Places::new();
    for (place, item) in patch.into_iter().enumerate() {
        let identity = identity(item, merge_key)?;
        match (at.get(&identity).and_then(|at| original.get_mut(*at)), item) {
            (Some(Value::Object(original)), Value::Object(patch)) => merge_map(original, patch, types)?,
            (Some(_), _) => {}
            (None, _) => {
                at.insert(identity.clone(), original.len());
                original.push(new_item(item)?);
            }
        }
        wanted.entry(identity).or_insert(place);
    }
    Ok(wanted)
}

/// Carries out the items that are directives; returns the other items, and whether the patch
/// replaces the list.
fn directives<'a>(
    original: &mut Vec<Value>,
    patch: &'a [Value],
    merge_key: Option<&str>,
) -> Result<(Vec<&'a Value>, bool), Refusal> {
    let (mut left, mut gone, mut replaced) = (Vec::new(), BTreeSet::new(), false);
    for item in patch {
        match item.as_object().map(Directive::of).transpose()?.flatten() {
            None => left.push(item),
            Some(Directive::Delete) => drop(gone.insert(identity(item, merge_key)?)),
            Some(Directive::Replace) => replaced = true,
            Some(Directive::Merge) => {
                return Err(rejected("merging lists cannot yet be specified in the patch"));
            }
        }
    }
    if !gone.is_empty() {
        original.retain(|item| identity(item, merge_key).is_ok_and(|identity| !gone.contains(&identity)));
    }
    Ok((left, replaced))
}

fn new_item(item: &Value) -> Result<Value, Refusal> {
    let map = |fields: &Map<String, Value>| clean_map(fields).map(Value::Object);
    item.as_object().map_or_else(|| Ok(item.clone()), map)
}

fn reorder(
    items: &mut Vec<Value>,
    merge_key: Option<&str>,
    wanted: &Places,
    before: &Places,
) -> Result<(), Refusal> {
    let named = items.drain(..).map(|item| Ok((identity(&item, merge_key)?, item)));
    let named = named.collect::<Result<Vec<_>, Refusal>>()?;
    *items = arrange(named, wanted, before);
    Ok(())
}

/// Refuses an order that does not contain the patch's items, in the patch's order.
fn same_order(
    patch: &[Value],
    order: &[Value],
    wanted: &Places,
    merge_key: Option<&str>,
) -> Result<(), Refusal> {
    let mut last = None;
    for item in patch {
        if item.as_object().map(Directive::of).transpose()?.flatten().is_some() {
            continue;
        }
        let place = wanted.get(&identity(item, merge_key)?).copied();
        if order.is_empty() || (place.is_some() && place > last) {
            last = place;
            continue;
        }
        let [patch, order] = [patch, order].map(|items| Value::from(items.to_vec()));
        let said = "doesn't match $setElementOrder list";
        return Err(rejected(format!("The order in patch list:\n{patch}\n {said}:\n{order}\n")));
    }
    Ok(())
}
