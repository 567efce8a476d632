//! Texts in responses.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

/// A text that is borrowed from the response if possible; `null` and absent texts are empty.
#[derive(Default)]
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

impl AsRef<str> for Text<'_> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor).map(Self)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Cow::default())
    }
}

/// A map of texts, in the order of the response.
#[derive(Default)]
pub(crate) struct TextMap<'a>(pub(crate) Vec<(Text<'a>, Text<'a>)>);

impl<'de: 'a, 'a> Deserialize<'de> for TextMap<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextMapVisitor).map(Self)
    }
}

struct TextMapVisitor;

impl<'de> Visitor<'de> for TextMapVisitor {
    type Value = Vec<(Text<'de>, Text<'de>)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("texts by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut texts = Vec::new();
        while let Some(entry) = map.next_entry()? {
            texts.push(entry);
        }
        Ok(texts)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }
}

/// Removes the values that an error of serde quotes: the object may hold a password.
pub(crate) fn without_values(error: &str) -> String {
    for (before, after) in [("string \"", "\", expected"), ("variant `", "`, expected")] {
        if let Some((head, rest)) = error.split_once(before)
            && let Some((_, tail)) = rest.rsplit_once(after)
        {
            return format!("{head}{before}…{after}{tail}");
        }
    }
    error.to_owned()
}

/// Returns the beginning of an external text, with an ellipsis where it was cut, so that error
/// messages stay short.
pub(crate) fn excerpt(text: &str) -> String {
    cut(text, 200)
}

/// Returns the beginning of a message for users, which has a line per error.
pub(crate) fn message(text: &str) -> String {
    cut(text, 4096)
}

fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Returns the beginning of bytes that should be text.
pub(crate) fn excerpt_of(bytes: &[u8]) -> String {
    excerpt(String::from_utf8_lossy(&bytes[..bytes.len().min(1024)]).trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_serde_quote_no_value() {
        let check = |error: &str, expected: &str| assert_eq!(without_values(error), expected);
        let typed = "invalid type: string \"planted\", expected u64 at line 1 column 9";
        check(typed, "invalid type: string \"…\", expected u64 at line 1 column 9");
        check("unknown variant `planted`, expected `A`", "unknown variant `…`, expected `A`");
        check("missing field `spec`", "missing field `spec`");
    }
}
