//! Attribution of writes to the run that is being polled.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;

use machinery_objects::WriteToken;

use crate::reconcile::{RunWrites, WriteTracker, record_write};

thread_local! {
    static CURRENT: RefCell<Option<RunWrites>> = const { RefCell::new(None) };
}

/// Reports a committed write to the run that makes it, as [`Run::wrote`](crate::Run::wrote) does;
/// outside of a run it does nothing. For writers that know the informer of their objects.
///
/// A task that the run spawned is outside of it.
pub fn report_write(token: &WriteToken, informer: &impl WriteTracker) {
    let writes = CURRENT.try_with(|current| current.borrow().clone()).ok().flatten();
    if let Some(writes) = writes {
        record_write(&writes, token, informer);
    }
}

/// Runs a future, and attributes its writes to a run.
pub(crate) async fn reporting<F: Future>(writes: RunWrites, work: F) -> F::Output {
    let mut work = pin!(work);
    let mut writes = Some(writes);
    poll_fn(|context| {
        let _scope = WriteScope::enter(&mut writes);
        work.as_mut().poll(context)
    })
    .await
}

/// Exchanges the run of the thread, and exchanges it again when dropped, also if a poll panics.
struct WriteScope<'a>(&'a mut Option<RunWrites>);

impl<'a> WriteScope<'a> {
    fn enter(writes: &'a mut Option<RunWrites>) -> Self {
        exchange(writes);
        Self(writes)
    }
}

impl Drop for WriteScope<'_> {
    fn drop(&mut self) {
        exchange(self.0);
    }
}

fn exchange(writes: &mut Option<RunWrites>) {
    let _ = CURRENT.try_with(|current| std::mem::swap(&mut *current.borrow_mut(), writes));
}
