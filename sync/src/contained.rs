//! Calls of what others wrote.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A panic that went no further, and what it said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panic(Box<str>);

/// What a call of somebody else's code returns, unless it panics: that is theirs, and ends nothing of the caller's.
///
/// State that the call changed may be torn.
///
/// # Errors
/// It panicked.
pub fn contained<R>(call: impl FnOnce() -> R) -> Result<R, Panic> {
    catch_unwind(AssertUnwindSafe(call)).map_err(Panic::of)
}

impl Panic {
    /// That of a payload which was caught elsewhere, as in a future. The payload is dropped, and may panic in that.
    pub fn of(payload: Box<dyn Any + Send>) -> Self {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let panic = Self(text.unwrap_or("it panicked").into());
        if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            // Whoever does that again is not asked a third time.
            std::mem::forget(another);
        }
        panic
    }

    /// What it said.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
