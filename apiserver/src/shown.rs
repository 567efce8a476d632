//! How Kubernetes prints values in messages: as Go does. Clients and people compare these texts.

use std::fmt::Write;

use serde_json::{Number, Value};

/// A value in a message: texts quoted, numbers bare, the rest as JSON.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.to_string(),
            None => float(number.as_f64().unwrap_or_default()),
        },
        _ => json(value),
    }
}

/// A text in quotes: Go's `%q`.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0b' => out.push_str("\\v"),
            ' '..='~' => out.push(c),
            '\0'..='\x7f' => escape(&mut out, format_args!("\\x{:02x}", u32::from(c))),
            _ if c.escape_debug().count() == 1 => out.push(c),
            '\u{80}'..='\u{ffff}' => escape(&mut out, format_args!("\\u{:04x}", u32::from(c))),
            _ => escape(&mut out, format_args!("\\U{:08x}", u32::from(c))),
        }
    }
    out.push('"');
    out
}

/// A float: Go's `%v`, where 1000000.0 is `1e+06`.
pub(crate) fn float(x: f64) -> String {
    shortest(x, -4..6, 2)
}

/// JSON as Go marshals it: `<`, `>` and `&` are escaped, and 1.0 is `1`.
pub(crate) fn json(value: &Value) -> String {
    let mut out = String::new();
    write_json(&mut out, value);
    out
}

fn write_json(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&json_number(number)),
        Value::String(text) => json_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_json(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (i, (name, field)) in fields.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                json_text(out, name);
                out.push(':');
                write_json(out, field);
            }
            out.push('}');
        }
    }
}

fn json_number(number: &Number) -> String {
    match number.as_i64() {
        Some(whole) => whole.to_string(),
        None => shortest(number.as_f64().unwrap_or_default(), -6..21, 1),
    }
}

fn json_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\x1f' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                escape(out, format_args!("\\u{:04x}", u32::from(c)));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}

/// The fewest digits that say this float, with an exponent where it is outside of `plain`.
fn shortest(x: f64, plain: std::ops::Range<i32>, exponent_digits: usize) -> String {
    let scientific = format!("{x:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if plain.contains(&exponent) {
        return x.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:0exponent_digits$}", exponent.unsigned_abs())
}

fn escape(out: &mut String, code: std::fmt::Arguments<'_>) {
    out.write_fmt(code).expect("a String takes all");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(value: &Value, expected: &str) {
        assert_eq!(shown(value), expected);
    }

    #[test]
    fn texts_are_quoted_as_go_does() {
        check(&json!("a\"b\\c\n\u{1}"), r#""a\"b\\c\n\x01""#);
        check(&json!("größe\u{200b}\u{e0001}"), "\"größe\\u200b\\U000e0001\"");
    }

    #[test]
    fn numbers_are_printed_as_go_does() {
        check(&json!(-7), "-7");
        check(&json!(1.0), "1");
        check(&json!(1.5), "1.5");
        check(&json!(100_000.0), "100000");
        check(&json!(1_000_000.0), "1e+06");
        check(&json!(0.0001), "0.0001");
        check(&json!(0.00001), "1e-05");
        check(&json!(u64::MAX), "1.8446744073709552e+19");
    }

    #[test]
    fn the_rest_is_json() {
        check(
            &json!({"b": [1.0, 1e21, 1e-7], "a": "<&>"}),
            r#"{"a":"\u003c\u0026\u003e","b":[1,1e+21,1e-7]}"#,
        );
        check(&json!(null), "null");
    }
}
