//! Texts of a server, as they come.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

/// A text that is borrowed from the answer where that is possible; `null` and what is absent are empty.
#[derive(Default)]
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

impl AsRef<str> for Text<'_> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OfText).map(Self)
    }
}

struct OfText;

impl<'de> Visitor<'de> for OfText {
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

/// Texts by texts, in the order of the answer.
#[derive(Default)]
pub(crate) struct Texts<'a>(pub(crate) Vec<(Text<'a>, Text<'a>)>);

impl<'de: 'a, 'a> Deserialize<'de> for Texts<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OfTexts).map(Self)
    }
}

struct OfTexts;

impl<'de> Visitor<'de> for OfTexts {
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

/// The beginning of a text from outside, with a mark where it was cut: an error about a megabyte is not a megabyte.
pub(crate) fn excerpt(text: &str) -> String {
    cut(text, 200)
}

/// The same of what a server says to people, which has a line for each thing that is wrong.
pub(crate) fn message(text: &str) -> String {
    cut(text, 4096)
}

fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// The same of bytes that should be text.
pub(crate) fn excerpt_of(bytes: &[u8]) -> String {
    excerpt(String::from_utf8_lossy(&bytes[..bytes.len().min(1024)]).trim())
}
