//! The seat of a running request, and waits without it.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use super::{Flow, FlowControl};

tokio::task_local! {
    /// The seat of the request that this task works on.
    static SEAT: Seat;
}

/// The seat of a request. Dropping it ends the request.
pub(crate) struct Seat {
    control: Arc<FlowControl>,
    flow: Flow,
    /// Waits that are going on. With the first one the seat is given up.
    waits: Cell<u32>,
}

/// Awaits `wait` without the seat of the current request. Without a seat, as in a server-side
/// controller, it is only awaited. Waits of one request may overlap.
///
/// For waits whose end does not depend on this server's work, or depends on other requests: they
/// may be long, and others would find no seat.
pub(crate) async fn without_seat<F: Future>(wait: F) -> F::Output {
    let mut wait = pin!(wait);
    if let Poll::Ready(output) = poll_fn(|cx| Poll::Ready(wait.as_mut().poll(cx))).await {
        return output;
    }
    let _waiting = WaitGuard::begin();
    wait.await
}

/// Returns the flow of the current request. Handles and server-side controllers share one of the
/// level `exempt`.
#[cfg(feature = "server")]
pub(crate) fn current_flow() -> Flow {
    SEAT.try_with(|seat| seat.flow).unwrap_or(Flow::INTERNAL)
}

impl Seat {
    pub(super) fn new(control: Arc<FlowControl>, flow: Flow) -> Self {
        Self { control, flow, waits: Cell::new(0) }
    }

    /// Runs `work` on this seat.
    pub(crate) fn run<F: Future>(self, work: F) -> impl Future<Output = F::Output> {
        // Not async, which would hold the future of the whole request twice.
        SEAT.scope(self, work)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let is_waiting = self.waits.get() > 0;
        self.control.update(|seats| seats.finish(self.flow, is_waiting));
    }
}

/// One wait of a request.
struct WaitGuard;

impl WaitGuard {
    fn begin() -> Self {
        let _ = SEAT.try_with(|seat| {
            if seat.waits.replace(seat.waits.get() + 1) == 0 {
                seat.control.update(|seats| seats.suspend(seat.flow));
            }
        });
        Self
    }
}

impl Drop for WaitGuard {
    fn drop(&mut self) {
        let _ = SEAT.try_with(|seat| {
            let before = seat.waits.get();
            seat.waits.set(before.saturating_sub(1));
            if before == 1 {
                seat.control.update(|seats| seats.resume(seat.flow));
            }
        });
    }
}
