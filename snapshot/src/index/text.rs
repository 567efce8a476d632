//! Indexes of an optional text of entries; an unchanged text is detected without an allocation.

use super::change::{IndexChange, IndexFunction, collected, difference};
use super::{Column, Values};
use crate::slots::Slots;
use crate::version::Entry;
use std::sync::Arc;

/// A function that returns an optional text of an entry.
pub(crate) struct TextIndex<F>(pub(crate) F);

impl<K, V, F> IndexFunction<K, V> for TextIndex<F>
where
    F: for<'a> Fn(&'a K, &'a V) -> Option<&'a str> + Send + Sync,
{
    fn empty(&self) -> Box<dyn Column> {
        Box::new(Values::<Arc<str>>::new())
    }

    fn load(&self, slots: &Slots<Entry<K, V>>) -> Box<dyn Column> {
        let found = |(slot, entry): (u32, &Entry<K, V>)| {
            (self.0)(&entry.key, &entry.value).map(|text| (Arc::<str>::from(text), slot))
        };
        collected(slots.numbered().filter_map(found).collect())
    }

    fn compare(&self, old: Option<&Entry<K, V>>, new: Option<&Entry<K, V>>) -> Option<Box<dyn IndexChange>> {
        let of = |entry: Option<&'_ Entry<K, V>>| -> Vec<Arc<str>> {
            entry.and_then(|entry| (self.0)(&entry.key, &entry.value)).map(Arc::from).into_iter().collect()
        };
        match (old, new) {
            (Some(a), Some(b)) if (self.0)(&a.key, &a.value) == (self.0)(&b.key, &b.value) => None,
            _ => difference(of(old), of(new)),
        }
    }
}
