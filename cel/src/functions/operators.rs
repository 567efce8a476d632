//! Operators.

use std::cmp::Ordering;
use std::sync::Arc;

use super::Function;
use super::time::{in_range, nanos};
use crate::declared::Order;
use crate::eval::plan::Args;
use crate::limits::VALUE_BYTES;
use crate::value::{Items, List, Outcome, Val, compare, contains, equal, fail, no_overload, same_keys};

pub(super) fn function(name: &str) -> Option<Function> {
    Some(match name {
        "_==_" => |args| same(args).map(Val::Bool),
        "_!=_" => |args| same(args).map(|it| Val::Bool(!it)),
        "_<_" => |args| order(args, Ordering::is_lt),
        "_<=_" => |args| order(args, Ordering::is_le),
        "_>_" => |args| order(args, Ordering::is_gt),
        "_>=_" => |args| order(args, Ordering::is_ge),
        "_+_" => |args| plus(args.values),
        "_-_" => |args| minus(args.values),
        "_*_" => |args| times(args.values),
        "_/_" => |args| over(args.values),
        "_%_" => |args| modulo(args.values),
        "-_" => |args| match args.values {
            [Val::Int(a)] => int(a.checked_neg()),
            [Val::Double(a)] => Ok(Val::Double(-a)),
            _ => no_overload(),
        },
        "!_" => |args| match args.values {
            [Val::Bool(a)] => Ok(Val::Bool(!a)),
            _ => no_overload(),
        },
        "@in" => |args| is_in(args.values),
        _ => return None,
    })
}

fn same(args: &Args<'_, '_>) -> Result<bool, crate::value::Failure> {
    match args.values {
        [a, b] => equal(a, b),
        _ => Ok(false),
    }
}

fn order<'a>(args: &Args<'_, 'a>, is: fn(Ordering) -> bool) -> Outcome<'a> {
    let [a, b] = args.values else { return no_overload() };
    match compare(a, b) {
        Some(order) => Ok(Val::Bool(order.is_some_and(is))),
        None => no_overload(),
    }
}

pub(super) fn int<'a>(value: Option<i64>) -> Outcome<'a> {
    value.map_or_else(|| fail("integer overflow"), |it| Ok(Val::Int(it)))
}

fn uint<'a>(value: Option<u64>) -> Outcome<'a> {
    value.map_or_else(|| fail("unsigned integer overflow"), |it| Ok(Val::Uint(it)))
}

fn duration<'a>(value: Option<i64>) -> Outcome<'a> {
    value.map_or_else(|| fail("duration overflow"), |it| Ok(Val::Duration(it)))
}

fn timestamp<'a>(value: i128) -> Outcome<'a> {
    if in_range(value) { Ok(Val::Timestamp(value)) } else { fail("timestamp overflow") }
}

pub(super) fn plus<'a>(values: &[Val<'a>]) -> Outcome<'a> {
    match values {
        [Val::Int(a), Val::Int(b)] => int(a.checked_add(*b)),
        [Val::Uint(a), Val::Uint(b)] => uint(a.checked_add(*b)),
        [Val::Double(a), Val::Double(b)] => Ok(Val::Double(a + b)),
        [Val::Duration(a), Val::Duration(b)] => duration(a.checked_add(*b)),
        [Val::Timestamp(a), Val::Duration(b)] | [Val::Duration(b), Val::Timestamp(a)] => {
            timestamp(a + i128::from(*b))
        }
        [Val::String(a), Val::String(b)] => {
            let (a, b) = (a.as_str(), b.as_str());
            bounded(a.len() + b.len())?;
            Ok(Val::text([a, b].concat()))
        }
        [Val::Bytes(a), Val::Bytes(b)] => {
            bounded(a.len() + b.len())?;
            Ok(Val::Bytes([&a[..], &b[..]].concat().into()))
        }
        [Val::List(a), Val::List(b)] => merged(a, b),
        _ => no_overload(),
    }
}

/// Fails if a computed value of `bytes` bytes is above the limit.
pub(super) fn bounded<'a>(bytes: usize) -> Outcome<'a> {
    if bytes <= VALUE_BYTES { Ok(Val::Null) } else { fail(format!("a value of {bytes} bytes is too large")) }
}

/// Adds lists by their type: concatenation, set union, or a merge by keys.
fn merged<'a>(a: &List<'a>, b: &List<'a>) -> Outcome<'a> {
    bounded((a.len() + b.len()).saturating_mul(size_of::<Val<'_>>()))?;
    let mut items = a.all()?;
    match a.order {
        Order::Atomic => items.extend(b.all()?),
        Order::Set => {
            for item in b.all()? {
                if !contains(&items, &item)? {
                    items.push(item);
                }
            }
        }
        Order::Keys(keys) => {
            for item in b.all()? {
                match items.iter_mut().find(|it| same_keys(it, &item, keys)) {
                    Some(before) => *before = item,
                    None => items.push(item),
                }
            }
        }
    }
    Ok(Val::List(List { items: Items::Made(Arc::new(items)), order: a.order }))
}

fn minus<'a>(values: &[Val<'a>]) -> Outcome<'a> {
    match values {
        [Val::Int(a), Val::Int(b)] => int(a.checked_sub(*b)),
        [Val::Uint(a), Val::Uint(b)] => uint(a.checked_sub(*b)),
        [Val::Double(a), Val::Double(b)] => Ok(Val::Double(a - b)),
        [Val::Duration(a), Val::Duration(b)] => duration(a.checked_sub(*b)),
        [Val::Timestamp(a), Val::Duration(b)] => timestamp(a - i128::from(*b)),
        [Val::Timestamp(a), Val::Timestamp(b)] => duration(nanos(a - b)),
        _ => no_overload(),
    }
}

fn times<'a>(values: &[Val<'a>]) -> Outcome<'a> {
    match values {
        [Val::Int(a), Val::Int(b)] => int(a.checked_mul(*b)),
        [Val::Uint(a), Val::Uint(b)] => uint(a.checked_mul(*b)),
        [Val::Double(a), Val::Double(b)] => Ok(Val::Double(a * b)),
        _ => no_overload(),
    }
}

fn over<'a>(values: &[Val<'a>]) -> Outcome<'a> {
    match values {
        [Val::Int(_), Val::Int(0)] | [Val::Uint(_), Val::Uint(0)] => fail("division by zero"),
        [Val::Int(a), Val::Int(b)] => int(a.checked_div(*b)),
        [Val::Uint(a), Val::Uint(b)] => uint(a.checked_div(*b)),
        [Val::Double(a), Val::Double(b)] => Ok(Val::Double(a / b)),
        _ => no_overload(),
    }
}

fn modulo<'a>(values: &[Val<'a>]) -> Outcome<'a> {
    match values {
        [Val::Int(_), Val::Int(0)] | [Val::Uint(_), Val::Uint(0)] => fail("modulus by zero"),
        [Val::Int(a), Val::Int(b)] => int(a.checked_rem(*b)),
        [Val::Uint(a), Val::Uint(b)] => uint(a.checked_rem(*b)),
        _ => no_overload(),
    }
}

fn is_in<'a>(values: &[Val<'a>]) -> Outcome<'a> {
    match values {
        [value, Val::List(list)] => {
            for item in list.iter() {
                if equal(value, &item?)? {
                    return Ok(Val::Bool(true));
                }
            }
            Ok(Val::Bool(false))
        }
        [value, Val::Map(map)] => match map.get(value) {
            Some(value) => value.map(|_| Val::Bool(true)),
            None => Ok(Val::Bool(false)),
        },
        _ => no_overload(),
    }
}
