//! Writes JSON byte for byte as two encoders of Go do.

use std::fmt::Write as _;

use serde_json::{Number, Value};

/// JSON as `encoding/json` marshals it: `<`, `>` and `&` are escaped, and 1.0 is `1`.
pub(crate) fn go_json(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value, Encoder::Standard);
    out
}

/// JSON as json-iterator marshals it, with which structured-merge-diff writes path elements: an
/// exponent has at least two digits, and there are no escapes `\b` and `\f`.
pub(crate) fn json_iterator(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value, Encoder::JsonIterator);
    out
}

/// The name of a field in an object that json-iterator streams: HTML is not escaped.
pub(crate) fn json_iterator_name(name: &str) -> String {
    let mut out = String::new();
    write_string(&mut out, name, Encoder::JsonIterator, false);
    out
}

/// The shortest digits that identify a float, as `strconv.FormatFloat` prints them with precision
/// -1. The form has an exponent of at least `exponent_digits` where it is outside of `plain`.
pub(crate) fn format_float(x: f64, plain: std::ops::Range<i32>, exponent_digits: usize) -> String {
    let scientific = format!("{x:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if plain.contains(&exponent) {
        return x.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:0exponent_digits$}", exponent.unsigned_abs())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoder {
    Standard,
    JsonIterator,
}

fn write(out: &mut String, value: &Value, encoder: Encoder) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&format_number(number, encoder)),
        Value::String(text) => write_string(out, text, encoder, true),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(out, item, encoder);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (i, (name, field)) in fields.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_string(out, name, encoder, true);
                out.push(':');
                write(out, field, encoder);
            }
            out.push('}');
        }
    }
}

fn format_number(number: &Number, encoder: Encoder) -> String {
    // Go has read whole numbers beyond 64 bits with a sign as floats.
    let exponent_digits = if encoder == Encoder::Standard { 1 } else { 2 };
    match number.as_i64() {
        Some(whole) => whole.to_string(),
        None => format_float(number.as_f64().unwrap_or_default(), -6..21, exponent_digits),
    }
}

fn write_string(out: &mut String, text: &str, encoder: Encoder, escape_html: bool) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\x08' if encoder == Encoder::Standard => out.push_str("\\b"),
            '\x0c' if encoder == Encoder::Standard => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\x1f' => escape(out, c),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' if escape_html => escape(out, c),
            _ => out.push(c),
        }
    }
    out.push('"');
}

fn escape(out: &mut String, c: char) {
    write!(out, "\\u{:04x}", u32::from(c)).expect("a String takes all");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::go_json;
    use crate::json::GoRecording;

    #[test]
    fn floats_are_written_as_encoding_json_does() {
        for float in GoRecording::load().floats() {
            assert_eq!(go_json(&float.value.into()), float.json, "{:e}", float.value);
        }
    }

    #[test]
    fn strings_are_written_as_encoding_json_does() {
        for (text, expected, ..) in GoRecording::load().strings {
            assert_eq!(go_json(&text.into()), expected);
        }
        assert_eq!(
            go_json(&json!({"b": [1.0, 1e21, null], "a": true, "<": {}})),
            r#"{"\u003c":{},"a":true,"b":[1,1e+21,null]}"#
        );
    }
}
