//! Conversions from one type to another.

use super::Function;
use super::{operators, time};
use crate::value::{Outcome, Val, fail, no_overload};

pub(super) fn function(name: &str) -> Option<Function> {
    Some(match name {
        "int" => |args| int(args.values),
        "uint" => |args| uint(args.values),
        "double" => |args| match args.values {
            [it @ Val::Double(_)] => Ok(it.clone()),
            [Val::Int(it)] => Ok(Val::Double(*it as f64)),
            [Val::Uint(it)] => Ok(Val::Double(*it as f64)),
            [Val::String(it)] => match double(it.as_str()) {
                Some(it) => Ok(Val::Double(it)),
                None => unparsable("ParseFloat", it.as_str()),
            },
            _ => no_overload(),
        },
        "bool" => |args| match args.values {
            [it @ Val::Bool(_)] => Ok(it.clone()),
            [Val::String(it)] => match it.as_str() {
                "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Val::Bool(true)),
                "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Val::Bool(false)),
                other => unparsable("ParseBool", other),
            },
            _ => no_overload(),
        },
        "string" => |args| match args.values {
            [it @ Val::String(_)] => Ok(it.clone()),
            [Val::Bytes(it)] => match std::str::from_utf8(it) {
                Ok(text) => Ok(Val::text(text)),
                Err(_) => fail("invalid UTF-8 in bytes, cannot convert to string"),
            },
            [
                it @ (Val::Bool(_)
                | Val::Int(_)
                | Val::Uint(_)
                | Val::Double(_)
                | Val::Timestamp(_)
                | Val::Duration(_)
                | Val::Opaque(_)),
            ] => Ok(it.to_string().into()),
            _ => no_overload(),
        },
        "bytes" => |args| match args.values {
            [it @ Val::Bytes(_)] => Ok(it.clone()),
            [Val::String(it)] => Ok(Val::Bytes(it.as_str().as_bytes().into())),
            _ => no_overload(),
        },
        "timestamp" => |args| match args.values {
            [it @ Val::Timestamp(_)] => Ok(it.clone()),
            [Val::Int(seconds)] => {
                let nanos = i128::from(*seconds) * 1_000_000_000;
                if time::in_range(nanos) { Ok(Val::Timestamp(nanos)) } else { fail("timestamp overflow") }
            }
            [Val::String(it)] => match time::parse_timestamp(it.as_str()) {
                Some(nanos) if time::in_range(nanos) => Ok(Val::Timestamp(nanos)),
                _ => fail(format!("invalid timestamp {:?}", it.as_str())),
            },
            _ => no_overload(),
        },
        "duration" => |args| match args.values {
            [it @ Val::Duration(_)] => Ok(it.clone()),
            [Val::String(it)] => match time::parse_duration(it.as_str()) {
                Some(nanos) => Ok(Val::Duration(nanos)),
                None => fail(format!("time: invalid duration {:?}", it.as_str())),
            },
            _ => no_overload(),
        },
        "dyn" => |args| args.values.first().cloned().map_or_else(no_overload, Ok),
        "type" => |args| match args.values {
            [it] => Ok(Val::Type(it.ty().name().into())),
            _ => no_overload(),
        },
        _ => return None,
    })
}

fn unparsable<'a>(how: &str, text: &str) -> Outcome<'a> {
    fail(format!("strconv.{how}: parsing {text:?}: invalid syntax"))
}

fn int<'a>(values: &[Val<'a>]) -> Outcome<'a> {
    match values {
        [it @ Val::Int(_)] => Ok(it.clone()),
        [Val::Uint(it)] => operators::int(i64::try_from(*it).ok()),
        [Val::Double(it)] => {
            let fits = *it > -(2f64.powi(63)) && *it < 2f64.powi(63);
            operators::int(fits.then_some(*it as i64))
        }
        [Val::String(it)] => match it.as_str().parse() {
            Ok(it) => Ok(Val::Int(it)),
            Err(_) => unparsable("ParseInt", it.as_str()),
        },
        [Val::Timestamp(it)] => Ok(Val::Int(it.div_euclid(1_000_000_000) as i64)),
        [Val::Duration(it)] => Ok(Val::Int(*it)),
        _ => no_overload(),
    }
}

fn uint<'a>(values: &[Val<'a>]) -> Outcome<'a> {
    let overflow = || fail("unsigned integer overflow");
    match values {
        [it @ Val::Uint(_)] => Ok(it.clone()),
        [Val::Int(it)] => u64::try_from(*it).map_or_else(|_| overflow(), |it| Ok(Val::Uint(it))),
        [Val::Double(it)] if *it >= 0.0 && *it < 2f64.powi(64) => Ok(Val::Uint(*it as u64)),
        [Val::Double(_)] => overflow(),
        [Val::String(it)] => match it.as_str().strip_prefix('+').map_or(it.as_str().parse().ok(), |_| None) {
            Some(it) => Ok(Val::Uint(it)),
            None => unparsable("ParseUint", it.as_str()),
        },
        _ => no_overload(),
    }
}

fn double(text: &str) -> Option<f64> {
    let unsigned = text.trim_start_matches(['+', '-']);
    let lower = unsigned.to_ascii_lowercase();
    let named = matches!(lower.as_str(), "inf" | "infinity" | "nan");
    if !named && !unsigned.starts_with(|it: char| it.is_ascii_digit() || it == '.') {
        return None;
    }
    let number: f64 = text.parse().ok()?;
    // A number beyond a double is out of range, not infinite.
    (named || number.is_finite()).then_some(number)
}

/// The power of ten from which a double is written with an exponent.
const EXPONENT: i32 = 6;

/// Formats a double like Go's `%g`: the shortest exact digits, with an exponent for large and small
/// numbers.
pub(crate) fn double_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if number == 0.0 || (-4..EXPONENT).contains(&exponent) {
        return format!("{number}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}
