//! Calls of user code that contain panics.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A contained panic, with its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panic(Box<str>);

/// Returns the result of a call of user code, or its panic, so that the caller continues.
///
/// State that the call changed may be torn.
///
/// # Errors
/// If the call panicked.
pub fn contained<R>(call: impl FnOnce() -> R) -> Result<R, Panic> {
    catch_unwind(AssertUnwindSafe(call)).map_err(Panic::of)
}

impl Panic {
    /// Converts a payload that was caught elsewhere, as in a future. The payload is dropped, and a
    /// panic of its drop is contained.
    pub fn of(payload: Box<dyn Any + Send>) -> Self {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let panic = Self(text.unwrap_or("it panicked").into());
        if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            // A drop that panics in turn is leaked.
            std::mem::forget(another);
        }
        panic
    }

    /// Returns the message.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
