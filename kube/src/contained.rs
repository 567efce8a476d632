//! Calls of what others wrote: a panic in them is theirs, and ends no list and no watch.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a call returns, unless it panics.
pub(crate) fn contained<R>(call: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(returned) => Some(returned),
        Err(payload) => {
            // What it panicked with may panic in its drop.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
            None
        }
    }
}
