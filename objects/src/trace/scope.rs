//! The trace that a task is in while it is polled.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;

use super::Traceparent;

thread_local! {
    static CURRENT: Cell<Option<Traceparent>> = const { Cell::new(None) };
}

impl Traceparent {
    /// Of whoever calls: what [`traced`] says of the future that is polled. Writers say it with what they write.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Cell::get).ok().flatten()
    }
}

/// The same future, in this trace or in none: its writes say so. A task that it spawns is outside.
///
/// Dropping the future drops the one that it was made of.
pub async fn traced<F: Future>(trace: Option<Traceparent>, work: F) -> F::Output {
    let mut work = pin!(work);
    poll_fn(|context| {
        let _scope = TraceScope::into(trace);
        work.as_mut().poll(context)
    })
    .await
}

/// What the thread was in before is restored, also where a poll panics.
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
