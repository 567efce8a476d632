//! What users wrote may panic.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a function returns, or what it panicked with.
pub(super) fn contained<R>(call: impl FnOnce() -> R) -> Result<R, Box<str>> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| said(&*panic))
}

/// What a panic says.
pub(super) fn said(panic: &(dyn Any + Send)) -> Box<str> {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("it panicked").into()
}
