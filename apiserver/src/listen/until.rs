//! Work that goes on as long as it keeps to its times.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::time::{Instant, Sleep, sleep_until};

/// The work's end, or what it was late with.
///
/// `due` is asked after each step of the work: until when something must happen now, and what it is if it does not.
/// Only a step can make it sooner. Dropping the future drops the work.
pub(super) async fn until<F: Future, L>(
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

/// Wakes a task when something is due. What is put off again and again costs a timer a ring, not one each time.
#[derive(Default)]
pub(super) struct Alarm(Option<Pin<Box<Sleep>>>);

impl Alarm {
    /// What is late. Pending: nothing is, and the task is woken when something may be.
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
