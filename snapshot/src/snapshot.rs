//! A map as of a moment.

use crate::entries::{Counts, Entries};
use crate::index::{Index, Members, Values, values};
use crate::version::{Entry, Version};
use std::borrow::Borrow;
use std::fmt;
use std::hash::Hash;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

/// A map as of the moment that it was taken: the entries and all indexes, as one commit left them.
///
/// It is read without any lock, and a clone is a pointer. It keeps alive what it shows, and the writer copies what it
/// changes of that: hold it for as long as it is read, not for ever.
pub struct Snapshot<K, V> {
    version: Arc<Version<K, V>>,
}

impl<K, V> Snapshot<K, V> {
    pub(crate) const fn new(version: Arc<Version<K, V>>) -> Self {
        Self { version }
    }

    /// How many keys it holds.
    pub fn len(&self) -> usize {
        self.version.len
    }

    /// Whether it holds no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a key.
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.version.get(key).map(|entry| &entry.value)
    }

    /// A key as it is in the map, and its value.
    pub fn entry<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        self.version.get(key).map(Entry::pair)
    }

    /// Every key and its value. Their order is that of their places: roughly that in which the keys came.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> + Clone {
        self.version.slots.iter().map(Entry::pair)
    }

    /// The entries that have a value in an index, by place. Costs what it finds.
    ///
    /// # Panics
    /// If the index is of another map.
    pub fn by<I, Q: Ord + ?Sized>(&self, index: &Index<I>, value: &Q) -> Entries<'_, K, V, I>
    where
        I: Ord + Borrow<Q> + 'static,
    {
        Entries::of(&self.version.slots, self.values_of(index).get(value))
    }

    /// How many entries have a value in an index. O(log n).
    ///
    /// # Panics
    /// If the index is of another map.
    pub fn count<I, Q: Ord + ?Sized>(&self, index: &Index<I>, value: &Q) -> usize
    where
        I: Ord + Borrow<Q> + 'static,
    {
        self.values_of(index).get(value).map_or(0, Members::len)
    }

    /// The entries whose values in an index lie between two bounds, by value and then by place. An entry with several
    /// such values comes once for each. It begins in O(log n), wherever that is.
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

    /// The entries whose values in an index begin with a text, as [`Snapshot::range`] gives them.
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

    /// The values between two bounds that any entry has in an index, and how many entries have each.
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

/// The least text that is behind all that begin with this one; `None` if there is none.
fn prefix_end(prefix: &str) -> Option<String> {
    let mut text = prefix.to_owned();
    while let Some(last) = text.pop() {
        // Between the two halves of the characters there is a gap.
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
