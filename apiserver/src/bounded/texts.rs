//! Lists of texts, bounded in number and bytes.

use std::fmt::Display;

use super::text::bounded;
use super::{LIST_BYTES, MAX_ERRORS, TEXT_BYTES};

/// Texts, of which only the first are kept and the others are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BoundedTexts {
    kept: Vec<String>,
    bytes: usize,
    more: usize,
}

impl BoundedTexts {
    /// Adds a text. It is made only if there is room.
    pub(crate) fn push(&mut self, text: impl Display) {
        if self.is_full() {
            self.more += 1;
            return;
        }
        let text = bounded(TEXT_BYTES, text);
        self.bytes += text.len();
        self.kept.push(text);
    }

    pub(crate) fn extend<T: Display>(&mut self, texts: impl IntoIterator<Item = T>) {
        texts.into_iter().for_each(|text| self.push(text));
    }

    /// Adds the texts of another list.
    pub(crate) fn append(&mut self, other: Self) {
        self.extend(other.kept);
        self.more += other.more;
    }

    /// Returns whether further texts are only counted.
    pub(crate) const fn is_full(&self) -> bool {
        self.kept.len() >= MAX_ERRORS || self.bytes >= LIST_BYTES
    }

    /// Returns the texts that are kept.
    pub(crate) fn kept(&self) -> &[String] {
        &self.kept
    }

    /// Returns the number of texts that are not kept.
    pub(crate) const fn more(&self) -> usize {
        self.more
    }

    /// Returns a text with the number of the others, if there are any: `and 3 more`.
    pub(crate) fn others(&self) -> Option<String> {
        (self.more > 0).then(|| format!("and {} more", self.more))
    }

    pub(crate) fn sort(&mut self) {
        self.kept.sort();
    }

    /// Joins the texts, and the number of the others.
    pub(crate) fn join(&self, separator: &str) -> String {
        let mut text = self.kept.join(separator);
        if let Some(others) = self.others() {
            text.push_str(separator);
            text.push_str(&others);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_texts_are_kept_and_the_others_are_counted() {
        let mut texts = BoundedTexts::default();
        texts.extend(["b", "a"]);
        assert_eq!((texts.kept(), texts.others()), (&["b".to_owned(), "a".to_owned()][..], None));
        texts.extend(0..MAX_ERRORS + 5);
        assert_eq!((texts.kept().len(), texts.others().as_deref()), (MAX_ERRORS, Some("and 7 more")));
    }

    #[test]
    fn long_texts_are_bounded_by_their_bytes() {
        let mut texts = BoundedTexts::default();
        let long = "x".repeat(100_000);
        texts.extend(vec![&long; 10_000]);
        assert!(texts.join(", ").len() < LIST_BYTES + 2 * TEXT_BYTES);
        assert!(texts.join(", ").ends_with("..., and 9984 more"), "{}", texts.kept().len());
    }
}
