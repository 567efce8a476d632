//! One run of a target, with its panic caught and put into words.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps panics from being printed: making an input shorter means hundreds of them. For this process, for good.
pub(super) fn be_quiet() {
    std::panic::set_hook(Box::new(|panic| LAST_PANIC.set(panic.to_string())));
}

/// The panic that `input` leads to, if it does; without words unless [`be_quiet`] came before.
pub(super) fn attempt(run: fn(&[u8]), input: &[u8]) -> Option<String> {
    // Nothing is shared between runs but what the target itself shares, and that is for the target to get right.
    catch_unwind(AssertUnwindSafe(|| run(input))).err().map(|_| LAST_PANIC.take())
}
