//! Snapshots: immutable views of one version of the map.

use crate::entries::{Counts, Entries};
use crate::index::{Index, Members, Values, values};
use crate::version::{Entry, Version};
use std::borrow::Borrow;
use std::fmt;
use std::hash::Hash;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

/// An immutable view of the map: the entries and all indexes of one commit.
///
/// Reading takes no lock, and a clone is a pointer. It keeps its entries alive, and the writer
/// copies the blocks that it shares: drop it after reading.
pub struct Snapshot<K, V> {
    version: Arc<Version<K, V>>,
}

impl<K, V> Snapshot<K, V> {
    pub(crate) const fn new(version: Arc<Version<K, V>>) -> Self {
        Self { version }
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.version.len
    }

    /// Returns whether it has no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the value of a key.
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.version.get(key).map(|entry| &entry.value)
    }

    /// Returns the stored key and its value.
    pub fn entry<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        self.version.get(key).map(Entry::pair)
    }

    /// Returns every key and its value in slot order, roughly the order of insertion.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> + Clone {
        self.version.slots.iter().map(Entry::pair)
    }

    /// Returns the entries with a value of an index, in slot order. Costs its results.
    ///
    /// # Panics
    /// If the index is of another map.
    pub fn by<I, Q: Ord + ?Sized>(&self, index: &Index<I>, value: &Q) -> Entries<'_, K, V, I>
    where
        I: Ord + Borrow<Q> + 'static,
    {
        Entries::of(&self.version.slots, self.values_of(index).get(value))
    }

    /// Returns the number of entries with a value of an index. O(log n).
    ///
    /// # Panics
    /// If the index is of another map.
    pub fn count<I, Q: Ord + ?Sized>(&self, index: &Index<I>, value: &Q) -> usize
    where
        I: Ord + Borrow<Q> + 'static,
    {
        self.values_of(index).get(value).map_or(0, Members::len)
    }

    /// Returns the entries with index values between two bounds, by value and then by slot. An
    /// entry with several such values is returned for each. Starts in O(log n) at any position.
    ///
    /// # Panics
    /// If the index is of another map.
    pub fn range<I, Q: Ord + ?Sized>(
        &self,
        index: &Index<I>,
        bounds: impl RangeBounds<Q>,
    ) -> Entries<'_, K, V, I>
    where
        I: Ord + Borrow<Q> + 'static,
    {
        Entries::between(&self.version.slots, self.values_of(index).range(bounds))
    }

    /// Returns the entries with index values that begin with a prefix, like [`Snapshot::range`].
    ///
    /// # Panics
    /// If the index is of another map.
    pub fn prefix<I: Ord + Borrow<str> + 'static>(
        &self,
        index: &Index<I>,
        prefix: &str,
    ) -> Entries<'_, K, V, I> {
        let end = prefix_end(prefix);
        let end = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        self.range::<I, str>(index, (Bound::Included(prefix), end))
    }

    /// Returns the index values between two bounds, each with its number of entries.
    ///
    /// # Panics
    /// If the index is of another map.
    pub fn values<I, Q: Ord + ?Sized>(&self, index: &Index<I>, bounds: impl RangeBounds<Q>) -> Counts<'_, I>
    where
        I: Ord + Borrow<Q> + 'static,
    {
        Counts::new(self.values_of(index).range(bounds))
    }

    fn values_of<I: 'static>(&self, index: &Index<I>) -> &Values<I> {
        values(&self.version.columns, index)
    }
}

/// Returns the least text after all texts with this prefix; `None` if there is none.
fn prefix_end(prefix: &str) -> Option<String> {
    let mut text = prefix.to_owned();
    while let Some(last) = text.pop() {
        // The surrogates are a gap between the two halves of the characters.
        let next = if last == '\u{d7ff}' { Some('\u{e000}') } else { char::from_u32(u32::from(last) + 1) };
        if let Some(next) = next {
            text.push(next);
            return Some(text);
        }
    }
    None
}

impl<K, V> Clone for Snapshot<K, V> {
    fn clone(&self) -> Self {
        Self { version: self.version.clone() }
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Snapshot<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(all(test, not(machinery_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_text_behind_a_prefix() {
        fn check(prefix: &str, expected: Option<&str>) {
            assert_eq!(prefix_end(prefix).as_deref(), expected);
        }
        check("", None);
        check("a", Some("b"));
        check("pods/", Some("pods0"));
        check("a\u{10ffff}", Some("b"));
        check("\u{10ffff}", None);
        check("\u{d7ff}", Some("\u{e000}"));
        check("ä", Some("å"));
    }
}
