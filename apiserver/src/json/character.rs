//! Characters in Go's error messages.

/// Quotes a byte in single quotes, with the escapes of Go.
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

/// Returns whether Go's `strconv.IsPrint` accepts a character: letters, marks, numbers,
/// punctuation, symbols and the ASCII space. Rust's tables are of a later Unicode and accept
/// characters that it added.
pub(crate) fn is_printable(char: char) -> bool {
    // `escape_debug` escapes a combining mark at the beginning only, so it follows a letter here.
    let text: String = ['a', char].iter().collect();
    char.is_ascii_graphic() || char == ' ' || text.escape_debug().count() == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printable() {
        assert!(['é', '\u{301}', ' ', '"', '\'', '\\'].into_iter().all(is_printable));
        assert!(!['\u{a0}', '\u{200b}', '\u{7f}', '\n'].into_iter().any(is_printable));
    }
}
