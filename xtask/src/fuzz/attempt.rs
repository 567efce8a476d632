//! One run of a target, with its panic caught and described.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Disables the panic hook for this process: shortening an input means hundreds of panics.
pub(super) fn be_quiet() {
    std::panic::set_hook(Box::new(|panic| LAST_PANIC.set(panic.to_string())));
}

/// Returns the panic that `input` causes, if any; without its message unless [`be_quiet`] was
/// called before.
pub(super) fn attempt(run: fn(&[u8]), input: &[u8]) -> Option<String> {
    // Runs share only the state of the target itself, which must tolerate a panic.
    catch_unwind(AssertUnwindSafe(|| run(input))).err().map(|_| LAST_PANIC.take())
}
