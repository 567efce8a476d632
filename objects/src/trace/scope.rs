//! The trace of a task while it is polled.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;

use super::Traceparent;

thread_local! {
    static CURRENT: Cell<Option<Traceparent>> = const { Cell::new(None) };
}

impl Traceparent {
    /// Returns the trace that [`traced`] set for the polled future. Writers send it with their
    /// writes.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Cell::get).ok().flatten()
    }
}

/// Runs a future in this trace or in none: its writes carry the trace. A task that it spawns does
/// not inherit it.
///
/// Dropping the returned future drops `work`.
pub async fn traced<F: Future>(trace: Option<Traceparent>, work: F) -> F::Output {
    let mut work = pin!(work);
    poll_fn(|context| {
        // At each poll, because the task may have moved to another thread.
        let _scope = TraceScope::into(trace);
        work.as_mut().poll(context)
    })
    .await
}

/// Restores the previous trace of the thread when dropped, also if a poll panics.
struct TraceScope(Option<Traceparent>);

impl TraceScope {
    fn into(trace: Option<Traceparent>) -> Self {
        Self(CURRENT.replace(trace))
    }
}

impl Drop for TraceScope {
    fn drop(&mut self) {
        let _ = CURRENT.try_with(|current| current.set(self.0));
    }
}
