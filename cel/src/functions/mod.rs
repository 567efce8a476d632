//! Library functions, by name. The checker verifies static types; functions check dynamic ones.

mod authz;
pub(crate) mod convert;
pub(crate) mod duration_words;
mod lists;
mod named_format;
mod net;
pub(crate) mod opaque;
mod operators;
mod optional;
mod quantity;
mod regex;
mod semver;
mod strings;
mod text_format;
pub(crate) mod time;
pub(crate) mod uri;
mod url;

use crate::eval::plan::Args;
use crate::value::{Outcome, Val, no_overload};

pub(crate) type Function = for<'s, 'a> fn(&Args<'s, 'a>) -> Outcome<'a>;

/// Returns the function of this name.
pub(crate) fn function(name: &str) -> Option<Function> {
    operators::function(name)
        .or_else(|| convert::function(name))
        .or_else(|| strings::function(name))
        .or_else(|| lists::function(name))
        .or_else(|| optional::function(name))
        .or_else(|| time::function(name))
        .or_else(|| regex::function(name))
        .or_else(|| net::function(name))
        .or_else(|| url::function(name))
        .or_else(|| named_format::function(name))
        .or_else(|| authz::function(name))
        .or_else(|| shared(name))
}

/// Returns whether the function is a conversion, which is constant for a constant.
pub(crate) fn converts(name: &str) -> bool {
    matches!(
        name,
        "bool" | "bytes" | "double" | "duration" | "dyn" | "int" | "string" | "timestamp" | "type" | "uint"
    )
}

/// Functions that several types have.
fn shared(name: &str) -> Option<Function> {
    Some(match name {
        "size" => |args| match args.values {
            [it @ (Val::String(_) | Val::Bytes(_) | Val::List(_) | Val::Map(_))] => {
                Ok(Val::Int(it.size() as i64))
            }
            _ => no_overload(),
        },
        "indexOf" | "lastIndexOf" => {
            let last = name == "lastIndexOf";
            if last { |args| index_of(args, true) } else { |args| index_of(args, false) }
        }
        "isGreaterThan" => |args| ordered(args, |it| Val::Bool(it.is_gt())),
        "isLessThan" => |args| ordered(args, |it| Val::Bool(it.is_lt())),
        "compareTo" => |args| ordered(args, |it| Val::Int(it as i64)),
        _ => return quantity::function(name).or_else(|| semver::function(name)),
    })
}

fn index_of<'a>(args: &Args<'_, 'a>, last: bool) -> Outcome<'a> {
    match args.values.first() {
        Some(Val::List(_)) => lists::index_of(args.values, last),
        _ => strings::index_of(args.values, last),
    }
}

fn ordered<'a>(args: &Args<'_, 'a>, say: fn(std::cmp::Ordering) -> Val<'static>) -> Outcome<'a> {
    match args.values {
        [Val::Opaque(a), Val::Opaque(b)] => match a.order(b) {
            Some(order) => Ok(say(order)),
            None => no_overload(),
        },
        _ => no_overload(),
    }
}
