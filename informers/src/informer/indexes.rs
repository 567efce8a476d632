//! Functions of the user's, which may panic: an object is then found under nothing, and the cache is whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::contained::contained;

/// What the function finds in an object; if it panics nothing, and that is counted.
pub(super) fn found<T, R: IntoIterator>(
    find: impl Fn(&T) -> R,
    panics: Arc<AtomicU64>,
) -> impl Fn(&Arc<T>) -> Vec<R::Item> {
    move |object| {
        contained(|| find(object).into_iter().collect()).unwrap_or_else(|| {
            panics.fetch_add(1, Ordering::Relaxed);
            Vec::new()
        })
    }
}
