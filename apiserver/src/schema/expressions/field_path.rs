//! The `fieldPath` of a rule: `.spec.parts['a.b']`, below the validated value.

use crate::schema::node::{Additional, Schema};

/// Returns the normalized path, as in errors, if the schema has it. An empty path is invalid.
pub(super) fn normal(path: &str, schema: &Schema) -> Option<String> {
    let mut rest = path;
    let mut schema = schema;
    let mut out = String::new();
    while !rest.is_empty() {
        let name;
        (name, rest) = step(rest)?;
        let entry = match &schema.additional {
            Some(Additional::Of(values)) if schema.properties.is_empty() => Some(&**values),
            _ => None,
        };
        if let Some(values) = entry {
            out.push_str(&format!("[{name}]"));
            schema = values;
        } else {
            if !out.is_empty() {
                out.push('.');
            }
            out.push_str(&name);
            schema = schema.properties.get(&name)?;
        }
    }
    (!out.is_empty()).then_some(out)
}

/// Parses `.name` or `['name']`, and returns the rest.
fn step(text: &str) -> Option<(String, &str)> {
    if let Some(rest) = text.strip_prefix('.') {
        let end = rest.find(['.', '[', ']']).unwrap_or(rest.len());
        return (end > 0).then(|| (rest[..end].to_owned(), &rest[end..]));
    }
    let rest = text.strip_prefix("['")?;
    let mut name = String::new();
    let mut chars = rest.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\'' => return Some((name, rest[at + 1..].strip_prefix(']')?)),
            '\\' => name.push(match chars.next()?.1 {
                'a' => '\x07',
                'b' => '\x08',
                'f' => '\x0c',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'v' => '\x0b',
                quoted @ ('\'' | '\\') => quoted,
                _ => return None,
            }),
            other => name.push(other),
        }
    }
    None
}
