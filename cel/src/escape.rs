//! Escaping of property names that are no identifiers or are reserved words.

use std::borrow::Cow;

/// Words reserved for extensions of the language.
pub(crate) const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Returns whether a word is reserved.
pub(crate) fn is_reserved(word: &str) -> bool {
    matches!(word, "true" | "false" | "null" | "in") || RESERVED.contains(&word)
}

/// Returns the name of a property in expressions; `None` if it cannot be escaped. `a-b` is
/// `a__dash__b`, and `namespace` is `__namespace__`.
pub fn escape(property: &str) -> Option<Cow<'_, str>> {
    let first = *property.as_bytes().first()?;
    if first.is_ascii_digit() {
        return None;
    }
    if is_reserved(property) {
        return Some(format!("__{property}__").into());
    }
    if !property.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-' | b'.' | b'/')) {
        return None;
    }
    if !property.contains("__") && !property.contains(['-', '.', '/']) {
        return Some(property.into());
    }
    let escaped = property.replace("__", "\0").replace('-', "__dash__").replace('.', "__dot__");
    Some(escaped.replace('/', "__slash__").replace('\0', "__underscores__").into())
}

/// Reverses [`escape`]: returns the property with this name in expressions; `None` if there is
/// none.
pub fn unescape(name: &str) -> Option<String> {
    if let Some(word) = name.strip_prefix("__").and_then(|it| it.strip_suffix("__"))
        && is_reserved(word)
    {
        return Some(word.to_owned());
    }
    let mut property = String::new();
    let mut rest = name;
    while let Some(from) = rest.find("__") {
        let (before, after) = rest.split_at(from);
        property.push_str(before);
        let escapes = [("__underscores__", "__"), ("__dot__", "."), ("__dash__", "-"), ("__slash__", "/")];
        let (escape, plain) = escapes.into_iter().find(|it| after.starts_with(it.0))?;
        property.push_str(plain);
        rest = &after[escape.len()..];
    }
    property.push_str(rest);
    Some(property)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p04_names_round_trip_through_escaping() {
        let cases = [
            ("plain", Some("plain")),
            ("a_b", Some("a_b")),
            ("a__b", Some("a__underscores__b")),
            ("a-b.c/d", Some("a__dash__b__dot__c__slash__d")),
            ("namespace", Some("__namespace__")),
            ("int", Some("int")),
            ("true", Some("__true__")),
            ("", None),
            ("1a", None),
            ("a b", None),
            ("ä", None),
            ("___", Some("__underscores___")),
        ];
        for (property, expected) in cases {
            assert_eq!(escape(property).as_deref(), expected, "{property}");
            if let Some(name) = expected {
                assert_eq!(unescape(name).as_deref(), Some(property), "{name}");
            }
        }
        assert_eq!(unescape("a__b"), None);
    }
}
