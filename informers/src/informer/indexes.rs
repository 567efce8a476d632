//! Index functions; a panic leaves the object unindexed and the cache intact.

use machinery_sync::contained;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::vec::IntoIter;

/// Wraps an index function so that a panic is counted and yields no values.
pub(super) fn index_fn<T, R: IntoIterator>(
    find: impl Fn(&T) -> R,
    panics: Arc<AtomicU64>,
) -> impl Fn(&Arc<T>) -> Values<R::Item> {
    move |object| {
        contained(|| Values::of(find(object))).unwrap_or_else(|_| {
            panics.fetch_add(1, Ordering::Relaxed);
            Values::One(None)
        })
    }
}

/// The values of an object; a single one needs no allocation.
pub(super) enum Values<I> {
    One(Option<I>),
    Several(IntoIter<I>),
}

impl<I> Values<I> {
    fn of(values: impl IntoIterator<Item = I>) -> Self {
        let mut values = values.into_iter();
        let Some(first) = values.next() else { return Self::One(None) };
        let Some(second) = values.next() else { return Self::One(Some(first)) };
        Self::Several([first, second].into_iter().chain(values).collect::<Vec<_>>().into_iter())
    }
}

impl<I> Iterator for Values<I> {
    type Item = I;

    fn next(&mut self) -> Option<I> {
        match self {
            Self::One(value) => value.take(),
            Self::Several(values) => values.next(),
        }
    }
}
