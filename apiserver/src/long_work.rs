//! Work that may take long: the other tasks of its thread continue on another thread meanwhile.
//!
//! Validation, patches and selectors do not wait for anything, so no other task runs on their
//! thread until they end. Their cost is limited, and up to its limit it still exceeds the time that
//! other requests may wait.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// Runs a function that may take long. On a runtime with one thread, other tasks wait.
pub(crate) fn run_long<T>(work: impl FnOnce() -> T) -> T {
    let has_threads =
        Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
    if has_threads { block_in_place(work) } else { work() }
}

/// A future with polls that may take long, if it says so.
pub(crate) struct LongWork<'a, F> {
    pub(crate) is_long: bool,
    pub(crate) future: Pin<&'a mut F>,
}

impl<F: Future> Future for LongWork<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Self { is_long, future } = &mut *self;
        if *is_long { run_long(|| future.as_mut().poll(cx)) } else { future.as_mut().poll(cx) }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::mpsc;
    use std::time::Duration;

    use tokio_util::task::TaskTracker;

    use super::*;

    /// The long work ends only when another task of the runtime has run.
    #[test]
    fn other_tasks_run_during_long_work() {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
        let (tell, told) = mpsc::channel();
        let long = runtime.spawn(async move {
            let work = pin!(async move {
                TaskTracker::new().spawn(async move { tell.send(()) });
                told.recv_timeout(Duration::from_secs(30))
            });
            LongWork { is_long: true, future: work }.await
        });
        assert_eq!(runtime.block_on(long).unwrap(), Ok(()));
    }

    #[tokio::test]
    async fn a_runtime_with_one_thread_runs_long_work_at_once() {
        assert_eq!(run_long(|| 1), 1);
        assert_eq!(LongWork { is_long: true, future: pin!(async { 2 }) }.await, 2);
    }
}
