//! String formatting: `'%s has %d'.format([name, count])`.

use std::fmt::Write as _;

use super::operators;
use crate::value::{Failure, Outcome, Val};

type Written = Result<(), Failure>;

pub(super) fn format<'a>(text: &str, args: &[Val<'a>]) -> Outcome<'a> {
    let mut out = String::new();
    let mut args = args.iter().enumerate();
    let mut rest = text.chars().peekable();
    while let Some(it) = rest.next() {
        if it != '%' {
            out.push(it);
            continue;
        }
        if rest.peek() == Some(&'%') {
            rest.next();
            out.push('%');
            continue;
        }
        let mut precision = None;
        if rest.peek() == Some(&'.') {
            rest.next();
            let mut digits = String::new();
            while let Some(digit) = rest.next_if(char::is_ascii_digit) {
                digits.push(digit);
            }
            let number = digits.parse::<usize>().ok().filter(|it| *it <= 1000);
            precision = Some(number.ok_or_else(|| wrong("precision must be a number of at most 1000"))?);
        }
        let clause = rest.next().ok_or_else(|| wrong("unexpected end of string"))?;
        let (_, arg) = args.next().ok_or_else(|| wrong("index out of range: too few arguments"))?;
        match clause {
            's' => string(&mut out, arg)?,
            'd' => decimal(&mut out, arg)?,
            'f' => fixed(&mut out, arg, precision.unwrap_or(6))?,
            'e' => exponent(&mut out, arg, precision.unwrap_or(6))?,
            'b' => binary(&mut out, arg)?,
            'o' => octal(&mut out, arg)?,
            'x' | 'X' => hex(&mut out, arg, clause == 'X')?,
            other => return Err(wrong(&format!("unrecognized formatting clause {other:?}"))),
        }
        operators::bounded(out.len())?;
    }
    Ok(Val::text(out))
}

fn wrong(why: &str) -> Failure {
    Failure::Error(format!("could not parse formatting clause: {why}"))
}

fn unfit(clause: &str, value: &Val<'_>) -> Failure {
    let ty = value.ty();
    Failure::Error(format!("error during formatting: {clause} clause cannot be used on {}", ty.name()))
}

fn string(out: &mut String, value: &Val<'_>) -> Written {
    match value {
        Val::List(list) => {
            out.push('[');
            for (index, item) in list.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                nested(out, &item?)?;
            }
            out.push(']');
        }
        Val::Map(map) => {
            let mut entries = Vec::new();
            for (key, value) in map.entries() {
                let (mut shown, mut shown_value) = (String::new(), String::new());
                nested(&mut shown, &key.to_val())?;
                nested(&mut shown_value, &value?)?;
                entries.push(format!("{shown}:{shown_value}"));
            }
            entries.sort();
            let _ = write!(out, "{{{}}}", entries.join(", "));
        }
        Val::Double(it) if it.is_nan() => out.push_str("NaN"),
        Val::Double(it) if it.is_infinite() => out.push_str(if *it > 0.0 { "Infinity" } else { "-Infinity" }),
        Val::Null
        | Val::Bool(_)
        | Val::Int(_)
        | Val::Uint(_)
        | Val::Double(_)
        | Val::String(_)
        | Val::Bytes(_)
        | Val::Timestamp(_)
        | Val::Duration(_)
        | Val::Type(_) => {
            let _ = write!(out, "{value}");
        }
        other => return Err(unfit("string", other)),
    }
    operators::bounded(out.len()).map(|_| ())
}

/// Formats a value in a list or map: strings are quoted, and doubles have six digits.
fn nested(out: &mut String, value: &Val<'_>) -> Written {
    let _ = match value {
        Val::String(it) => write!(out, "{:?}", it.as_str()),
        Val::Bytes(_) => write!(out, "b{:?}", value.to_string()),
        Val::Double(it) if it.is_finite() => write!(out, "{it:.6}"),
        Val::Timestamp(_) => write!(out, "timestamp({:?})", value.to_string()),
        Val::Duration(_) => write!(out, "duration({:?})", value.to_string()),
        other => return string(out, other),
    };
    Ok(())
}

fn decimal(out: &mut String, value: &Val<'_>) -> Written {
    match value {
        Val::Int(_) | Val::Uint(_) => {
            let _ = write!(out, "{value}");
        }
        Val::Double(it) if !it.is_finite() => return string(out, value),
        other => return Err(unfit("integer", other)),
    }
    Ok(())
}

fn number(value: &Val<'_>, clause: &str) -> Result<f64, Failure> {
    match value {
        Val::Double(it) => Ok(*it),
        Val::Int(it) => Ok(*it as f64),
        Val::Uint(it) => Ok(*it as f64),
        Val::String(it) => match it.as_str() {
            "NaN" => Ok(f64::NAN),
            "Infinity" => Ok(f64::INFINITY),
            "-Infinity" => Ok(f64::NEG_INFINITY),
            _ => Err(unfit(clause, value)),
        },
        other => Err(unfit(clause, other)),
    }
}

fn fixed(out: &mut String, value: &Val<'_>, precision: usize) -> Written {
    let number = number(value, "fixed-point")?;
    if !number.is_finite() {
        return string(out, &Val::Double(number));
    }
    let _ = write!(out, "{number:.precision$}");
    Ok(())
}

fn exponent(out: &mut String, value: &Val<'_>, precision: usize) -> Written {
    let number = number(value, "scientific")?;
    if !number.is_finite() {
        return string(out, &Val::Double(number));
    }
    let text = format!("{number:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { "⁻" } else { "" };
    let power = format!("{:02}", exponent.abs());
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let power: String = power.bytes().map(|it| RAISED[usize::from(it - b'0')]).collect();
    let _ = write!(out, "{digits}×10{sign}{power}");
    Ok(())
}

fn signed(out: &mut String, value: i64, digits: impl Fn(u64) -> String) {
    let sign = if value < 0 { "-" } else { "" };
    let _ = write!(out, "{sign}{}", digits(value.unsigned_abs()));
}

fn binary(out: &mut String, value: &Val<'_>) -> Written {
    match value {
        Val::Bool(it) => out.push(if *it { '1' } else { '0' }),
        Val::Int(it) => signed(out, *it, |it| format!("{it:b}")),
        Val::Uint(it) => signed_uint(out, format!("{it:b}")),
        other => return Err(unfit("binary", other)),
    }
    Ok(())
}

fn signed_uint(out: &mut String, digits: String) {
    out.push_str(&digits);
}

fn octal(out: &mut String, value: &Val<'_>) -> Written {
    match value {
        Val::Int(it) => signed(out, *it, |it| format!("{it:o}")),
        Val::Uint(it) => signed_uint(out, format!("{it:o}")),
        other => return Err(unfit("octal", other)),
    }
    Ok(())
}

fn hex(out: &mut String, value: &Val<'_>, upper: bool) -> Written {
    let bytes = |bytes: &[u8]| bytes.iter().map(|it| format!("{it:02x}")).collect::<String>();
    let mut shown = String::new();
    match value {
        Val::Int(it) => signed(&mut shown, *it, |it| format!("{it:x}")),
        Val::Uint(it) => signed_uint(&mut shown, format!("{it:x}")),
        Val::String(it) => shown = bytes(it.as_str().as_bytes()),
        Val::Bytes(it) => shown = bytes(it),
        other => return Err(unfit("hex", other)),
    }
    out.push_str(&if upper { shown.to_uppercase() } else { shown });
    Ok(())
}
