//! Functions of the user's, which may panic: an object is then found under nothing, and the cache is whole.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the function finds in an object; if it panics nothing, and that is counted.
pub(super) fn found<T, R: IntoIterator>(
    find: impl Fn(&T) -> R,
    panics: Arc<AtomicU64>,
) -> impl Fn(&Arc<T>) -> Vec<R::Item> {
    move |object| {
        let found = catch_unwind(AssertUnwindSafe(|| find(object).into_iter().collect()));
        found.unwrap_or_else(|payload| {
            panics.fetch_add(1, Ordering::Relaxed);
            // What it panicked with may panic in its drop.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
            Vec::new()
        })
    }
}
