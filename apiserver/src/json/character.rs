//! Characters and texts, as Go shows them in errors.

/// In single quotes, with the escapes of Go.
pub(super) fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".into(),
        b'\\' => r"'\\'".into(),
        0x07 => r"'\a'".into(),
        0x08 => r"'\b'".into(),
        0x09 => r"'\t'".into(),
        0x0a => r"'\n'".into(),
        0x0b => r"'\v'".into(),
        0x0c => r"'\f'".into(),
        0x0d => r"'\r'".into(),
        0..0x20 | 0x7f => format!(r"'\x{byte:02x}'"),
        0x80..=0xa0 | 0xad => format!(r"'\u00{byte:02x}'"),
        _ => format!("'{}'", char::from(byte)),
    }
}

/// A text in double quotes, with the escapes of Go.
pub(crate) fn quoted_text(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            '\u{7}' => quoted.push_str(r"\a"),
            '\u{8}' => quoted.push_str(r"\b"),
            '\u{b}' => quoted.push_str(r"\v"),
            '\u{c}' => quoted.push_str(r"\f"),
            '\n' => quoted.push_str(r"\n"),
            '\r' => quoted.push_str(r"\r"),
            '\t' => quoted.push_str(r"\t"),
            _ if is_printable(char) => quoted.push(char),
            '\0'..='\u{7f}' => quoted.push_str(&format!(r"\x{:02x}", u32::from(char))),
            '\u{80}'..='\u{ffff}' => quoted.push_str(&format!(r"\u{:04x}", u32::from(char))),
            _ => quoted.push_str(&format!(r"\U{:08x}", u32::from(char))),
        }
    }
    quoted.push('"');
    quoted
}

/// Letters, marks, numbers, punctuation, symbols, and the plain space.
pub(crate) fn is_printable(char: char) -> bool {
    // Behind a letter a mark is not escaped for what it would combine with.
    let text: String = ['a', char].iter().collect();
    char.is_ascii_graphic() || char == ' ' || text.escape_debug().count() == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(quoted_text(text), format!("\"{expected}\""));
    }

    #[test]
    fn texts() {
        check("it's a 'é\u{301}'", "it's a 'é\u{301}'");
        check("\"a\\b\"", r#"\"a\\b\""#);
        check("\u{7}\n\t\0\u{7f}", r"\a\n\t\x00\x7f");
        check("\u{a0}\u{200b}\u{e0000}", r"\u00a0\u200b\U000e0000");
    }

    #[test]
    fn printable() {
        assert!(['é', '\u{301}', ' ', '"', '\'', '\\'].into_iter().all(is_printable));
        assert!(!['\u{a0}', '\u{200b}', '\u{7f}', '\n'].into_iter().any(is_printable));
    }
}
