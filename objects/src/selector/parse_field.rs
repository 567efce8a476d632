//! The grammar of field selectors.
//!
//! ```text
//! selector = [ term ] { "," [ term ] }
//! term     = field ( "=" | "==" | "!=" ) value
//! value    = { any character but "\", "," and "=" | "\\" | "\," | "\=" }
//! ```
//! Spaces are part of the field or value in which they stand.

use super::{FieldTerm, SelectorError};
use crate::excerpt::excerpt;

const OPERATOR: &str = "=, == or != after the name of a field";

pub(super) fn parse(text: &str) -> Result<Vec<FieldTerm>, SelectorError> {
    let mut terms = Vec::new();
    let mut at = 0;
    while at < text.len() {
        // Empty conditions are skipped, as in Kubernetes.
        if text.as_bytes()[at] == b',' {
            at += 1;
            continue;
        }
        let begin = at;
        let (name, equal, value_at) = field(text, at)?;
        let (value, end) = value(text, value_at)?;
        terms.push(
            FieldTerm::new(name, equal, &value)
                .map_err(|source| SelectorError::Requirement { at: begin, source })?,
        );
        at = end;
    }
    Ok(terms)
}

/// Parses the name and the operator; returns also the position of the value.
fn field(text: &str, begin: usize) -> Result<(&str, bool, usize), SelectorError> {
    let end = text[begin..].find(['=', '!', ',']).map_or(text.len(), |length| begin + length);
    let (equal, length) = match &text.as_bytes()[end..] {
        [b'=', b'=', ..] => (true, 2),
        [b'=', ..] => (true, 1),
        [b'!', b'=', ..] => (false, 2),
        _ => return Err(unexpected(text, end, OPERATOR)),
    };
    Ok((&text[begin..end], equal, end + length))
}

/// Parses the value; returns also its end.
fn value(text: &str, begin: usize) -> Result<(String, usize), SelectorError> {
    let mut value = String::new();
    let mut chars = text[begin..].char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            ',' => return Ok((value, begin + at)),
            '=' => return Err(unexpected(text, begin + at, "a value in which `=` stands after a `\\`")),
            '\\' => match chars.next() {
                Some((_, escaped @ ('\\' | ',' | '='))) => value.push(escaped),
                _ => return Err(unexpected(text, begin + at + 1, "`\\`, `,` or `=` after a `\\`")),
            },
            _ => value.push(char),
        }
    }
    Ok((value, text.len()))
}

fn unexpected(text: &str, at: usize, expected: &'static str) -> SelectorError {
    let found = match text[at..].chars().next() {
        None => "the end".to_owned(),
        Some(',') => "a comma".to_owned(),
        Some(char) => format!("`{}`", excerpt(char.encode_utf8(&mut [0; 4]))),
    };
    SelectorError::Unexpected { at, found, expected }
}
