//! Optionals, and maps built by macros.

use std::collections::BTreeMap;

use super::Function;
use crate::value::{Failure, Key, Map, Outcome, Val, fail, no_overload};

pub(super) fn function(name: &str) -> Option<Function> {
    Some(match name {
        "optional.of" => |args| match args.values {
            [it] => Ok(Val::some(it.clone())),
            _ => no_overload(),
        },
        "optional.ofNonZeroValue" => |args| match args.values {
            [it] if zero(it) => Ok(Val::Optional(None)),
            [it] => Ok(Val::some(it.clone())),
            _ => no_overload(),
        },
        "optional.none" => |_| Ok(Val::Optional(None)),
        "hasValue" => |args| match args.values {
            [Val::Optional(it)] => Ok(Val::Bool(it.is_some())),
            _ => no_overload(),
        },
        "value" => |args| match args.values {
            [Val::Optional(Some(it))] => Ok((**it).clone()),
            [Val::Optional(None)] => fail("optional.none() dereference"),
            _ => no_overload(),
        },
        "optional.unwrap" | "unwrapOpt" => |args| match args.values {
            [Val::List(list)] => {
                let mut values = Vec::new();
                for item in list.iter() {
                    match item? {
                        Val::Optional(value) => values.extend(value.map(|it| (*it).clone())),
                        _ => return no_overload(),
                    }
                }
                Ok(Val::list(values))
            }
            _ => no_overload(),
        },
        "cel.@mapInsert" => |args| match args.values {
            [Val::Map(map), key, value] => insert(map, [(Key::of(key.clone()), Ok(value.clone()))]),
            [Val::Map(map), Val::Map(more)] => insert(map, more.entries().map(|it| (Ok(it.0), it.1))),
            _ => no_overload(),
        },
        _ => return None,
    })
}

fn zero(value: &Val<'_>) -> bool {
    match value {
        Val::Null
        | Val::Bool(false)
        | Val::Int(0)
        | Val::Uint(0)
        | Val::Duration(0)
        | Val::Optional(None) => true,
        Val::Double(it) => *it == 0.0,
        Val::String(_) | Val::Bytes(_) | Val::List(_) | Val::Map(_) => value.size() == 0,
        _ => false,
    }
}

fn insert<'a>(
    map: &Map<'a>,
    more: impl IntoIterator<Item = (Result<Key<'a>, Failure>, Outcome<'a>)>,
) -> Outcome<'a> {
    let mut entries = BTreeMap::new();
    for (key, value) in map.entries() {
        entries.insert(key, value?);
    }
    for (key, value) in more {
        let key = key?;
        if entries.contains_key(&key) {
            return fail(format!("insert failed: key {key} already exists"));
        }
        entries.insert(key, value?);
    }
    Ok(Val::Map(Map::made(entries)))
}
