//! Work that goes on as long as it keeps to its times.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use tokio::time::{Instant, Sleep, sleep_until};

/// The work's end, or what it was late with.
///
/// `due` is asked after each step of the work: until when something must happen now, and what it is if it does not.
/// Only what happens in a step can change it. Dropping the future drops the work.
pub(super) async fn until<F: Future, L>(
    mut work: Pin<&mut F>,
    due: impl Fn() -> Option<(Instant, L)>,
) -> Result<F::Output, L> {
    let mut alarm: Option<Pin<Box<Sleep>>> = None;
    std::future::poll_fn(move |cx| {
        if let Poll::Ready(output) = work.as_mut().poll(cx) {
            return Poll::Ready(Ok(output));
        }
        loop {
            let Some((at, late)) = due() else { return Poll::Pending };
            if at <= Instant::now() {
                return Poll::Ready(Err(late));
            }
            if !rings(&mut alarm, at, cx) {
                return Poll::Pending;
            }
        }
    })
    .await
}

/// Whether it is that late. If not, the task is woken then.
fn rings(alarm: &mut Option<Pin<Box<Sleep>>>, at: Instant, cx: &mut Context<'_>) -> bool {
    let alarm = alarm.get_or_insert_with(|| Box::pin(sleep_until(at)));
    if alarm.deadline() != at {
        alarm.as_mut().reset(at);
    }
    pin!(alarm.as_mut()).poll(cx).is_ready()
}
