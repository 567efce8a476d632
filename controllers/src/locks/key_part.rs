//! Encoding of one part of a key.
//!
//! Names consist of `a-z`, `0-9`, hyphens and dots, with no hyphen or dot at either end or beside a
//! dot. A single hyphen separates parts, a double hyphen encodes a hyphen within a part. Any other
//! part is marked, with each byte literal or as `--` and two hexadecimal digits.

use super::KeyError;

/// Prefix of a byte-wise encoded part.
const MARK: &str = "0x";

/// Appends an encoded part.
pub(super) fn write(name: &mut String, part: &str) {
    if !name.is_empty() {
        name.push('-');
    }
    if is_plain(part) {
        name.push_str(&part.replace('-', "--"));
        return;
    }
    name.push_str(MARK);
    for byte in part.bytes() {
        if is_alphanumeric(byte) {
            name.push(char::from(byte));
        } else {
            let digit = |half| char::from_digit(u32::from(half), 16).unwrap_or('0');
            name.extend(['-', '-', digit(byte >> 4), digit(byte & 0xf)]);
        }
    }
}

/// Splits a name into encoded parts.
pub(super) fn split(name: &str) -> Result<Vec<&str>, KeyError> {
    let bytes = name.as_bytes();
    let (mut parts, mut begin, mut at) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        let hyphens = bytes[at..].iter().take_while(|byte| **byte == b'-').count();
        match hyphens {
            0 => at += 1,
            1 => {
                parts.push(&name[begin..at]);
                at += 1;
                begin = at;
            }
            2 => at += 2,
            // Three are ambiguous: a separator before or after an encoded hyphen.
            _ => return Err(KeyError::Hyphens { at }),
        }
    }
    parts.push(&name[begin..]);
    Ok(parts)
}

/// Decodes a part.
pub(super) fn read(written: &str) -> Result<String, KeyError> {
    let Some(body) = written.strip_prefix(MARK) else { return Ok(written.replace("--", "-")) };
    let wrong = || KeyError::Escape { part: written.into() };
    let (mut bytes, mut rest) = (Vec::new(), body.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'-' {
            bytes.push(*first);
            continue;
        }
        let [b'-', high, low, behind @ ..] = rest else { return Err(wrong()) };
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let (Some(high), Some(low)) = (digit(*high), digit(*low)) else { return Err(wrong()) };
        bytes.push(high << 4 | low);
        rest = behind;
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

fn is_plain(part: &str) -> bool {
    let bytes = part.as_bytes();
    let stands = |at: usize| bytes.get(at).copied().is_some_and(is_alphanumeric);
    let may_stand = |at: usize| match bytes[at] {
        // A hyphen at an edge would merge with a separator, and DNS forbids one beside a dot.
        b'-' | b'.' => at > 0 && stands(at - 1) && stands(at + 1),
        _ => stands(at),
    };
    // A plain part that begins with the mark would be decoded as bytes.
    !part.is_empty() && !part.starts_with(MARK) && (0..bytes.len()).all(may_stand)
}

const fn is_alphanumeric(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9')
}
