//! Runs a future under deadlines.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::time::{Instant, Sleep, sleep_until};

/// Runs a future until it completes or misses a deadline.
///
/// `due` returns the next deadline and its event; it is called after each poll. Only a poll may
/// bring the deadline forward. Cancellation drops the future.
pub(super) async fn run_until_due<F: Future, L>(
    mut work: Pin<&mut F>,
    due: impl Fn() -> Option<(Instant, L)>,
) -> Result<F::Output, L> {
    let mut alarm = Alarm::default();
    std::future::poll_fn(move |cx| {
        if let Poll::Ready(output) = work.as_mut().poll(cx) {
            return Poll::Ready(Ok(output));
        }
        alarm.poll(&due, cx).map(Err)
    })
    .await
}

/// A deadline timer. Postponed deadlines reset the timer when it fires, not each time.
#[derive(Default)]
pub(super) struct Alarm(Option<Pin<Box<Sleep>>>);

impl Alarm {
    /// Returns the event of a missed deadline; otherwise registers the waker for the next one.
    pub(super) fn poll<L>(
        &mut self,
        due: impl Fn() -> Option<(Instant, L)>,
        cx: &mut Context<'_>,
    ) -> Poll<L> {
        loop {
            let Some((at, late)) = due() else {
                if self.0.as_mut().is_some_and(|sleep| sleep.as_mut().poll(cx).is_ready()) {
                    self.0 = None;
                }
                return Poll::Pending;
            };
            let sleep = self.0.get_or_insert_with(|| Box::pin(sleep_until(at)));
            if sleep.deadline() > at {
                sleep.as_mut().reset(at);
            }
            if sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            if at <= Instant::now() {
                return Poll::Ready(late);
            }
            sleep.as_mut().reset(at);
        }
    }
}
