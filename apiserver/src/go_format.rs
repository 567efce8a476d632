//! Formats values in messages as Go's `fmt` does. Clients and people compare these texts.

use std::fmt::Write;

use serde_json::Value;

use crate::json::{self, go_json, is_printable};

/// A value in a message: strings by `%q`, numbers by `%v`, the rest as JSON.
pub(crate) fn format_value(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.to_string(),
            None => format_float(number.as_f64().unwrap_or_default()),
        },
        _ => go_json(value),
    }
}

/// A string by `%q`: escaped are the characters that `strconv.IsPrint` does not accept.
pub(crate) fn quote(text: &str) -> String {
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
            _ if is_printable(c) => out.push(c),
            '\0'..='\x7f' => escape(&mut out, format_args!("\\x{:02x}", u32::from(c))),
            '\u{80}'..='\u{ffff}' => escape(&mut out, format_args!("\\u{:04x}", u32::from(c))),
            _ => escape(&mut out, format_args!("\\U{:08x}", u32::from(c))),
        }
    }
    out.push('"');
    out
}

/// A list of strings by `%q`: in brackets, separated by spaces.
pub(crate) fn quote_all<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<_> = texts.into_iter().map(|text| quote(text.as_ref())).collect();
    format!("[{}]", texts.join(" "))
}

/// A float by `%v`: 1000000.0 is `1e+06`.
pub(crate) fn format_float(x: f64) -> String {
    json::format_float(x, -4..6, 2)
}

fn escape(out: &mut String, code: std::fmt::Arguments<'_>) {
    out.write_fmt(code).expect("a String takes all");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(value: &Value, expected: &str) {
        assert_eq!(format_value(value), expected);
    }

    #[test]
    fn texts_of_a_list_are_quoted_in_brackets() {
        assert_eq!(quote_all(["a", "b c"]), r#"["a" "b c"]"#);
        assert_eq!(quote_all::<&str>([]), "[]");
    }

    #[test]
    fn texts_are_quoted_as_go_does() {
        check(&json!("a\"b\\c\n\u{1}"), r#""a\"b\\c\n\x01""#);
        check(&json!("größe\u{200b}\u{e0001}"), "\"größe\\u200b\\U000e0001\"");
    }

    #[test]
    fn quotes_escape_the_characters_that_go_escapes() {
        let recording = crate::json::GoRecording::load();
        for (text, expected) in &recording.quotes {
            assert_eq!(&quote(text), expected);
        }
        let within = |ranges: &[(u32, u32)], c: char| {
            let code = u32::from(c);
            let at = ranges.partition_point(|(_, last)| *last < code);
            ranges.get(at).is_some_and(|(first, _)| *first <= code)
        };
        // Characters of a later Unicode than that of the recording are printable to Rust only.
        for c in ('\0'..=char::MAX).filter(|c| !within(&recording.unassigned, *c)) {
            let escaped = quote(&c.to_string()).len() > c.len_utf8() + 2;
            let expected = !within(&recording.printable, c) || matches!(c, '"' | '\\');
            assert_eq!(escaped, expected, "U+{:04X}", u32::from(c));
        }
    }

    #[test]
    fn floats_are_printed_as_go_does() {
        for recorded in crate::json::GoRecording::load().floats() {
            assert_eq!(format_float(recorded.value), recorded.plain);
        }
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
