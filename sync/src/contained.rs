//! Calls of what others wrote.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a call of somebody else's code returns, unless it panics: that is theirs, and ends nothing of the caller's.
///
/// What it panicked with is dropped, and may panic in that. State that the call changed may be torn.
pub fn contained<R>(call: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(returned) => Some(returned),
        Err(payload) => {
            if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
                // Whoever does that again is not asked a third time.
                std::mem::forget(another);
            }
            None
        }
    }
}
