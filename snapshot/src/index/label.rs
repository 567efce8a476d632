//! Labels: pairs of a key and a value, as objects have them.

use super::change::{IndexChange, IndexFunction, collected, difference};
use super::{Column, Values};
use crate::slots::Slots;
use crate::version::Entry;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

/// A label as the value of an index: sorted by key, then by value.
#[derive(Clone, PartialEq, Eq)]
pub struct Label {
    text: Box<str>,
    /// The end of the key.
    key: usize,
}

impl Label {
    /// Creates a label.
    pub fn new(key: &str, value: &str) -> Self {
        Self { text: [key, value].concat().into(), key: key.len() }
    }

    /// Returns the key.
    pub fn key(&self) -> &str {
        &self.text[..self.key]
    }

    /// Returns the value.
    pub fn value(&self) -> &str {
        &self.text[self.key..]
    }

    /// Returns the range of all labels with this key, for
    /// [`Snapshot::range`](crate::Snapshot::range).
    pub fn any(key: &str) -> Range<Self> {
        // No text sorts between a text and the same text followed by the least character.
        let next = [key, "\0"].concat();
        Self::new(key, "")..Self::new(&next, "")
    }
}

impl Ord for Label {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.key(), self.value()).cmp(&(other.key(), other.value()))
    }
}

impl PartialOrd for Label {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}={:?}", self.key(), self.value())
    }
}

impl<K: AsRef<str> + ?Sized, V: AsRef<str> + ?Sized> From<(&K, &V)> for Label {
    fn from((key, value): (&K, &V)) -> Self {
        Self::new(key.as_ref(), value.as_ref())
    }
}

/// The function that returns an entry's labels.
pub(crate) struct LabelIndex<F, M: ?Sized, A: ?Sized, B: ?Sized> {
    find: F,
    pairs: PhantomData<fn(&M, &A, &B)>,
}

impl<F, M: ?Sized, A: ?Sized, B: ?Sized> LabelIndex<F, M, A, B> {
    pub(crate) const fn new(find: F) -> Self {
        Self { find, pairs: PhantomData }
    }
}

impl<K, V, M, F, A, B> IndexFunction<K, V> for LabelIndex<F, M, A, B>
where
    M: ?Sized,
    for<'a> &'a M: IntoIterator<Item = (&'a A, &'a B)>,
    A: AsRef<str> + ?Sized,
    B: AsRef<str> + ?Sized,
    F: for<'a> Fn(&'a V) -> &'a M + Send + Sync,
{
    fn empty(&self) -> Box<dyn Column> {
        Box::new(Values::<Label>::new())
    }

    fn load(&self, slots: &Slots<Entry<K, V>>) -> Box<dyn Column> {
        let found = |(slot, entry): (u32, &Entry<K, V>)| {
            let pairs = (self.find)(&entry.value).into_iter();
            pairs.map(|pair| (Label::from(pair), slot)).collect::<Vec<_>>()
        };
        collected(slots.numbered().flat_map(found).collect())
    }

    fn compare(&self, old: Option<&Entry<K, V>>, new: Option<&Entry<K, V>>) -> Option<Box<dyn IndexChange>> {
        if let (Some(old), Some(new)) = (old, new)
            && same((self.find)(&old.value), (self.find)(&new.value))
        {
            return None;
        }
        let sorted = |entry: Option<&Entry<K, V>>| {
            let pairs = entry.map(|entry| (self.find)(&entry.value));
            let mut labels: Vec<Label> = pairs.into_iter().flatten().map(Label::from).collect();
            labels.sort_unstable();
            labels.dedup();
            labels
        };
        difference(sorted(old), sorted(new))
    }
}

/// Returns whether two objects have the same labels in the same order, without an allocation.
fn same<'a, M, A, B>(old: &'a M, new: &'a M) -> bool
where
    M: ?Sized,
    &'a M: IntoIterator<Item = (&'a A, &'a B)>,
    A: AsRef<str> + ?Sized + 'a,
    B: AsRef<str> + ?Sized + 'a,
{
    let (mut old, mut new) = (old.into_iter(), new.into_iter());
    loop {
        match (old.next(), new.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if a.0.as_ref() == b.0.as_ref() && a.1.as_ref() == b.1.as_ref() => {}
            _ => return false,
        }
    }
}

#[cfg(all(test, not(machinery_loom)))]
mod tests {
    use super::*;

    #[test]
    fn labels_sort_by_key_and_a_range_has_one_key() {
        let labels = [("a", "z"), ("a", ""), ("ab", "c"), ("a", "bc"), ("a\0", "b")].map(Label::from);
        let mut sorted = labels.to_vec();
        sorted.sort();
        let texts: Vec<_> = sorted.iter().map(|label| (label.key(), label.value())).collect();
        assert_eq!(texts, [("a", ""), ("a", "bc"), ("a", "z"), ("a\0", "b"), ("ab", "c")]);
        assert_eq!(sorted.iter().filter(|&label| Label::any("a").contains(label)).count(), 3);
        assert_ne!(Label::new("ab", "c"), Label::new("a", "bc"));
    }
}
