//! The index of the keys themselves, if they are texts.

use super::change::{IndexChange, IndexFunction, difference};
use super::members::Members;
use super::{Column, Values};
use crate::slots::Slots;
use crate::version::Entry;
use std::borrow::Borrow;

/// Returns the key of an entry.
pub(crate) struct KeyIndex;

impl<K, V> IndexFunction<K, V> for KeyIndex
where
    K: Borrow<str> + Ord + Clone + Send + Sync + 'static,
{
    fn empty(&self) -> Box<dyn Column> {
        Box::new(Values::<K>::new())
    }

    fn load(&self, slots: &Slots<Entry<K, V>>) -> Box<dyn Column> {
        let mut keys: Vec<SortItem<K>> =
            slots.numbered().map(|(slot, entry)| (0, entry.key.clone(), slot)).collect();
        sort(&mut keys, 0);
        let keys = keys.into_iter().map(|(_, key, slot)| (key, Members::One(slot))).collect();
        Box::new(Values::of_sorted(keys))
    }

    fn compare(&self, old: Option<&Entry<K, V>>, new: Option<&Entry<K, V>>) -> Option<Box<dyn IndexChange>> {
        // An update keeps its key, so it costs this index nothing.
        if old.is_some() && new.is_some() {
            return None;
        }
        let key = |entry: Option<&Entry<K, V>>| entry.map(|entry| entry.key.clone()).into_iter().collect();
        difference(key(old), key(new))
    }
}

/// A chunk of eight bytes of a text, the text, and its slot.
type SortItem<K> = (u64, K, u32);

/// Up to this number, texts are compared as a whole.
const INSERTION_SORT_LIMIT: usize = 24;

/// Sorts texts with `depth` common bytes, eight bytes at a time: the texts are spread over memory,
/// and a cache miss per comparison would make the sort slow.
fn sort<K: Borrow<str> + Ord>(items: &mut [SortItem<K>], mut depth: usize) {
    loop {
        if items.len() <= INSERTION_SORT_LIMIT {
            return items.sort_unstable_by(|(_, one, _), (_, other, _)| one.cmp(other));
        }
        for (chunk, text, _) in &mut *items {
            *chunk = chunk_at((*text).borrow(), depth);
        }
        let first = items[0].0;
        if items.iter().any(|(chunk, ..)| *chunk != first) {
            break;
        }
        if may_end(first) {
            return items.sort_unstable_by(|(_, one, _), (_, other, _)| one.cmp(other));
        }
        depth += size_of::<u64>();
    }
    items.sort_unstable_by_key(|(chunk, ..)| *chunk);
    for same in items.chunk_by_mut(|(one, ..), (other, ..)| one == other) {
        if same.len() > 1 && may_end(same[0].0) {
            same.sort_unstable_by(|(_, one, _), (_, other, _)| one.cmp(other));
        } else if same.len() > 1 {
            sort(same, depth + size_of::<u64>());
        }
    }
}

/// Returns eight bytes of a text, in the order of texts, padded with zeros.
fn chunk_at(text: &str, depth: usize) -> u64 {
    let rest = &text.as_bytes()[depth.min(text.len())..];
    match rest.first_chunk() {
        // Big-endian, so that numbers compare as the texts do.
        Some(chunk) => u64::from_be_bytes(*chunk),
        None => {
            let mut chunk = [0; size_of::<u64>()];
            chunk[..rest.len()].copy_from_slice(rest);
            u64::from_be_bytes(chunk)
        }
    }
}

/// Returns whether a text with this chunk may end in it: its zeros may also be part of the text.
const fn may_end(chunk: u64) -> bool {
    chunk & 0xff == 0
}

#[cfg(all(test, not(machinery_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Arc;

    fn sorted(texts: &[String]) -> Vec<Arc<str>> {
        let mut items: Vec<SortItem<Arc<str>>> =
            texts.iter().map(|text| (0, text.as_str().into(), 0)).collect();
        sort(&mut items, 0);
        items.into_iter().map(|(_, text, _)| text).collect()
    }

    proptest! {
        /// Long common prefixes, ends at every position, and zeros that look like ends.
        #[test]
        fn texts_are_sorted_as_texts(texts in prop::collection::vec("(aaaaaaaa|aaaaaaab|\u{0}{1,8}|b){0,4}[ab\u{0}é]{0,3}", 0..200)) {
            let mut expected: Vec<Arc<str>> = texts.iter().map(|text| text.as_str().into()).collect();
            expected.sort();
            prop_assert_eq!(sorted(&texts), expected);
        }
    }
}
