//! Equality and order of values. Numbers are compared by value, across types.

use std::cmp::Ordering;

use serde_json::Value;

use super::map::MapKind;
use super::{Failure, List, Map, Val};
use crate::declared::{ObjectType, Order};

/// Returns whether two values are equal. Values of different types are unequal, without an error.
pub(crate) fn equal(a: &Val<'_>, b: &Val<'_>) -> Result<bool, Failure> {
    Ok(match (a, b) {
        (Val::Null, Val::Null) => true,
        (Val::Bool(a), Val::Bool(b)) => a == b,
        (Val::String(a), Val::String(b)) => a.as_str() == b.as_str(),
        (Val::Bytes(a), Val::Bytes(b)) => a == b,
        (Val::Timestamp(a), Val::Timestamp(b)) => a == b,
        (Val::Duration(a), Val::Duration(b)) => a == b,
        (Val::Type(a), Val::Type(b)) => a == b,
        (Val::Opaque(a), Val::Opaque(b)) => {
            a.equals(b).ok_or_else(|| Failure::Error("no such overload".to_owned()))?
        }
        (Val::Unknown(a), Val::Unknown(b)) => a == b,
        (Val::Optional(a), Val::Optional(b)) => match (a, b) {
            (Some(a), Some(b)) => equal(a, b)?,
            (a, b) => a.is_none() && b.is_none(),
        },
        (Val::List(a), Val::List(b)) => lists(a, b)?,
        (Val::Map(a), Val::Map(b)) => maps(a, b)?,
        _ => numbers(a, b).is_some_and(|it| it == Some(Ordering::Equal)),
    })
}

/// Returns the order of two values: `Some(None)` if one is NaN, `None` if the types have no order.
pub(crate) fn compare(a: &Val<'_>, b: &Val<'_>) -> Option<Option<Ordering>> {
    Some(Some(match (a, b) {
        (Val::Bool(a), Val::Bool(b)) => a.cmp(b),
        (Val::String(a), Val::String(b)) => a.as_str().cmp(b.as_str()),
        (Val::Bytes(a), Val::Bytes(b)) => a.cmp(b),
        (Val::Timestamp(a), Val::Timestamp(b)) => a.cmp(b),
        (Val::Duration(a), Val::Duration(b)) => a.cmp(b),
        _ => return numbers(a, b),
    }))
}

fn numbers(a: &Val<'_>, b: &Val<'_>) -> Option<Option<Ordering>> {
    let whole = |it: &Val<'_>| match it {
        Val::Int(it) => Some(i128::from(*it)),
        Val::Uint(it) => Some(i128::from(*it)),
        _ => None,
    };
    match (a, b) {
        (Val::Double(a), Val::Double(b)) => Some(a.partial_cmp(b)),
        (Val::Double(a), b) => whole(b).map(|b| double_to_whole(*a, b)),
        (a, Val::Double(b)) => whole(a).map(|a| double_to_whole(*b, a).map(Ordering::reverse)),
        (a, b) => Some(Some(whole(a)?.cmp(&whole(b)?))),
    }
}

fn double_to_whole(double: f64, whole: i128) -> Option<Ordering> {
    if double.is_nan() {
        return None;
    }
    // Large doubles are whole numbers; below 2^65 the conversion is exact.
    if double >= 2f64.powi(65) {
        return Some(Ordering::Greater);
    }
    if double <= -(2f64.powi(65)) {
        return Some(Ordering::Less);
    }
    let floor = double.floor();
    let order = (floor as i128).cmp(&whole);
    Some(if order.is_eq() && double > floor { Ordering::Greater } else { order })
}

fn lists(a: &List<'_>, b: &List<'_>) -> Result<bool, Failure> {
    if a.len() != b.len() {
        return Ok(false);
    }
    // The declaration of the left list decides, as upstream.
    match a.order {
        Order::Atomic => {
            for (a, b) in a.iter().zip(b.iter()) {
                if !equal(&a?, &b?)? {
                    return Ok(false);
                }
            }
        }
        Order::Set => {
            let others = b.all()?;
            for item in a.iter() {
                if !contains(&others, &item?)? {
                    return Ok(false);
                }
            }
        }
        Order::Keys(keys) => {
            let others = b.all()?;
            for item in a.iter() {
                let item = item?;
                let found = others.iter().find(|it| same_keys(&item, it, keys));
                if !found.map_or(Ok(false), |it| equal(&item, it))? {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}

/// Returns whether one of the items equals the value.
pub(crate) fn contains(items: &[Val<'_>], value: &Val<'_>) -> Result<bool, Failure> {
    for item in items {
        if equal(item, value)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether two items of a keyed list have the same keys. Two missing keys are equal.
pub(crate) fn same_keys(a: &Val<'_>, b: &Val<'_>, keys: &[String]) -> bool {
    let key = |item: &Val<'_>, key: &str| match item {
        Val::Map(Map(MapKind::Object(entries, _) | MapKind::Json(entries, _))) => entries.get(key).cloned(),
        Val::Map(map) => map.field(key).and_then(Result::ok).map(|it| it.to_json()),
        _ => None,
    };
    keys.iter().all(|name| key(a, name) == key(b, name))
}

fn maps(a: &Map<'_>, b: &Map<'_>) -> Result<bool, Failure> {
    if a.len() != b.len() {
        return Ok(false);
    }
    if let (MapKind::Object(a, object), MapKind::Object(b, other)) = (&a.0, &b.0) {
        return objects(a, object, b, other);
    }
    for (key, value) in a.entries() {
        let Some(other) = b.get(&key.to_val()) else { return Ok(false) };
        if !equal(&value?, &other?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Compares objects with all properties: declared ones by their types, others as JSON.
fn objects(
    a: &serde_json::Map<String, Value>,
    object: &ObjectType,
    b: &serde_json::Map<String, Value>,
    other: &ObjectType,
) -> Result<bool, Failure> {
    for (property, value) in a {
        let Some(against) = b.get(property) else { return Ok(false) };
        let same = match (object.of(property), other.of(property)) {
            (Some(declared), Some(others)) => {
                equal(&super::read(value, declared)?, &super::read(against, others)?)?
            }
            _ => value == against,
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}
