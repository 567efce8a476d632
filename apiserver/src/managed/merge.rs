//! Merges an applied configuration into the live object.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::of::{Unkeyed, element_of};
use super::topology::{field_of, items_of};
use super::{ListMeta, ListType, PathElement};

/// Merges fields of granular maps and items of associative lists one by one, and replaces all other
/// values by the applied ones. A null removes nothing from a granular map or an associative list.
/// The keys of applied items are unique.
pub(super) fn merge(live: &Value, applied: &Value, meta: &dyn ListMeta) -> Result<Value, Unkeyed> {
    let granular = meta.list_type() != ListType::Atomic;
    match (live, applied) {
        (Value::Object(live), Value::Object(applied)) if !meta.atomic_map() && !live.is_empty() => {
            fields(live, applied, meta).map(Value::Object)
        }
        (Value::Array(live), Value::Array(applied)) if granular && !live.is_empty() => {
            items(live, applied, meta).map(Value::Array)
        }
        (Value::Object(parts), Value::Null) if !meta.atomic_map() && !parts.is_empty() => Ok(live.clone()),
        (Value::Array(parts), Value::Null) if granular && !parts.is_empty() => Ok(live.clone()),
        _ => Ok(applied.clone()),
    }
}

fn fields(
    live: &Map<String, Value>,
    applied: &Map<String, Value>,
    meta: &dyn ListMeta,
) -> Result<Map<String, Value>, Unkeyed> {
    let mut out = live.clone();
    for (name, applied) in applied {
        let value = match live.get(name) {
            Some(live) => merge(live, applied, field_of(meta, name))?,
            None => applied.clone(),
        };
        out.insert(name.clone(), value);
    }
    Ok(out)
}

/// Items in both lists take the order of the applied list. Items of the live object alone stay
/// before the items that they preceded.
fn items(live: &[Value], applied: &[Value], meta: &dyn ListMeta) -> Result<Vec<Value>, Unkeyed> {
    let live = keyed(live, meta)?;
    let applied = keyed(applied, meta)?;
    let mut by_key = BTreeMap::<&PathElement, Option<&Value>>::new();
    for (key, item) in &live {
        // Duplicate items are not merged with applied ones.
        by_key.entry(key).and_modify(|item| *item = None).or_insert(Some(item));
    }
    let is_applied: BTreeSet<&PathElement> = applied.iter().map(|(key, _)| key).collect();
    let mut shared = applied.iter().map(|(key, _)| key).filter(|key| by_key.contains_key(key)).peekable();
    let mut taken = BTreeSet::new();
    let mut out = Vec::with_capacity(live.len().max(applied.len()));
    let (mut of_live, mut of_applied) = (live.iter().peekable(), applied.iter().peekable());
    loop {
        if let (Some((here, _)), Some((there, _))) = (of_live.peek(), of_applied.peek())
            && here != there
            && is_applied.contains(here)
            && shared.peek().is_some_and(|next| *next != here)
        {
            // Its place is where it is applied.
            of_live.next();
            continue;
        }
        let meets = matches!((of_live.peek(), of_applied.peek()), (Some((here, _)), Some((there, _))) if here == there);
        if let Some((key, item)) = of_live.peek().filter(|_| !meets) {
            if !is_applied.contains(key) {
                out.push((*item).clone());
                of_live.next();
                continue;
            }
            if taken.contains(key) {
                of_live.next();
            }
        }
        if meets {
            of_live.next();
        }
        let Some((key, item)) = of_applied.next() else {
            if of_live.peek().is_none() {
                return Ok(out);
            }
            continue;
        };
        out.push(match by_key.get(key) {
            Some(Some(live)) => merge(live, item, items_of(meta))?,
            _ => (*item).clone(),
        });
        taken.insert(key);
        if meets || shared.peek().is_some_and(|next| *next == key) {
            shared.next();
        }
    }
}

fn keyed<'a>(items: &'a [Value], meta: &dyn ListMeta) -> Result<Vec<(PathElement, &'a Value)>, Unkeyed> {
    items.iter().map(|item| Ok((element_of(item, meta)?, item))).collect()
}
