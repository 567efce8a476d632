//! Texts in quotes, as Go writes them and clients have come to read them.

use std::fmt::Write as _;

/// `%q` of a text.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for char in text.chars() {
        push(&mut quoted, char);
    }
    quoted.push('"');
    quoted
}

/// `%q` of texts: in brackets, with spaces between.
pub(super) fn quote_all<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<_> = texts.into_iter().map(|text| quote(text.as_ref())).collect();
    format!("[{}]", texts.join(" "))
}

fn push(quoted: &mut String, char: char) {
    let code = u32::from(char);
    let _ = match char {
        '"' => quoted.write_str("\\\""),
        '\\' => quoted.write_str("\\\\"),
        '\u{7}' => quoted.write_str("\\a"),
        '\u{8}' => quoted.write_str("\\b"),
        '\u{c}' => quoted.write_str("\\f"),
        '\n' => quoted.write_str("\\n"),
        '\r' => quoted.write_str("\\r"),
        '\t' => quoted.write_str("\\t"),
        '\u{b}' => quoted.write_str("\\v"),
        _ if code < 0x20 || code == 0x7f => write!(quoted, "\\x{code:02x}"),
        _ if is_printable(char) => quoted.write_char(char),
        _ if code < 0x10000 => write!(quoted, "\\u{code:04x}"),
        _ => write!(quoted, "\\U{code:08x}"),
    };
}

/// What Rust escapes at the beginning of a text and Go everywhere: all that leaves no ink, but for the space.
fn is_printable(char: char) -> bool {
    char.is_ascii() || !format!("a{char}").escape_debug().to_string().contains('\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_go_does() {
        let check = |text, expected: &str| assert_eq!(quote(text), expected);
        check("", r#""""#);
        check("it's", r#""it's""#);
        check("a\"b\\c", r#""a\"b\\c""#);
        check("\n\r\t\u{7}\u{8}\u{b}\u{c}\0\u{1}\u{7f}", r#""\n\r\t\a\b\v\f\x00\x01\x7f""#);
        check("é 日本 e\u{301}", "\"é 日本 e\u{301}\"");
        check("\u{200b}\u{a0}\u{e0001}", r#""\u200b\u00a0\U000e0001""#);
        assert_eq!(quote_all(["a", "b c"]), r#"["a" "b c"]"#);
        assert_eq!(quote_all::<&str>([]), "[]");
    }
}
