//! String, bytes and number literals.

use super::ast::Literal;
use crate::error::Problem;

/// Parses a string literal, with escapes unless raw.
pub(crate) fn text(inside: &[char], raw: bool) -> Result<String, Problem> {
    if raw {
        return Ok(inside.iter().collect());
    }
    let mut text = String::new();
    let mut rest = inside.iter().copied();
    while let Some(it) = rest.next() {
        if it != '\\' {
            text.push(it);
            continue;
        }
        match escape(&mut rest)? {
            Escape::Char(it) => text.push(it),
            // In a string, `\xff` and `\377` are code points.
            Escape::Byte(byte) => text.push(char::from(byte)),
        }
    }
    Ok(text)
}

/// Parses a bytes literal: a character is its UTF-8 encoding, a numeric escape is one byte.
pub(crate) fn bytes(inside: &[char], raw: bool) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    let mut rest = inside.iter().copied();
    while let Some(it) = rest.next() {
        let it = match it {
            '\\' if !raw => match escape(&mut rest)? {
                Escape::Byte(byte) => {
                    bytes.push(byte);
                    continue;
                }
                Escape::Char(it) if it.is_ascii() => it,
                Escape::Char(_) => return Err(wrong("unable to unescape string")),
            },
            it => it,
        };
        bytes.extend_from_slice(it.encode_utf8(&mut [0; 4]).as_bytes());
    }
    Ok(bytes)
}

enum Escape {
    Char(char),
    Byte(u8),
}

fn escape(rest: &mut impl Iterator<Item = char>) -> Result<Escape, Problem> {
    let it = rest.next().ok_or_else(|| wrong("unable to unescape string, found '\\' as last character"))?;
    let simple = match it {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '\\' | '\'' | '"' | '`' | '?' => it,
        'x' | 'X' => return Ok(Escape::Byte(number(rest, 0, 2, 16)? as u8)),
        'u' => return code_point(number(rest, 0, 4, 16)?),
        'U' => return code_point(number(rest, 0, 8, 16)?),
        '0'..='3' => {
            let first = u32::from(it) - u32::from('0');
            return Ok(Escape::Byte(number(rest, first, 2, 8)? as u8));
        }
        _ => return Err(wrong("unable to unescape string")),
    };
    Ok(Escape::Char(simple))
}

fn number(rest: &mut impl Iterator<Item = char>, first: u32, digits: u32, base: u32) -> Result<u32, Problem> {
    let mut number = first;
    for _ in 0..digits {
        let digit = rest.next().and_then(|it| it.to_digit(base));
        let digit = digit.ok_or_else(|| wrong("unable to unescape string"))?;
        number = number.wrapping_mul(base).wrapping_add(digit);
    }
    Ok(number)
}

fn code_point(number: u32) -> Result<Escape, Problem> {
    char::from_u32(number).map(Escape::Char).ok_or_else(|| wrong("invalid unicode code point"))
}

fn wrong(why: &str) -> Problem {
    Problem::Other(why.to_owned())
}

pub(crate) fn int(digits: &str, negative: bool) -> Result<Literal, Problem> {
    let signed = |digits: &str| if negative { format!("-{digits}") } else { digits.to_owned() };
    let parsed = match hex(digits) {
        Some(hex) => i64::from_str_radix(&signed(hex), 16),
        None => signed(digits).parse(),
    };
    parsed.map(Literal::Int).map_err(|_| wrong("invalid int literal"))
}

pub(crate) fn uint(digits: &str) -> Result<Literal, Problem> {
    let parsed = match hex(digits) {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    parsed.map(Literal::Uint).map_err(|_| wrong("invalid uint literal"))
}

pub(crate) fn double(digits: &str, negative: bool) -> Result<Literal, Problem> {
    let number: f64 = digits.parse().map_err(|_| wrong("invalid double literal"))?;
    if number.is_infinite() {
        return Err(wrong("invalid double literal"));
    }
    Ok(Literal::Double(if negative { -number } else { number }))
}

fn hex(digits: &str) -> Option<&str> {
    digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"))
}
