//! Calls of a port: their panics are contained, and hanging ones are dropped.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt as _;
use machinery_sync::Panic;

use super::PortFailure;
use super::batch::Progress;

/// The reason why a call has no result.
pub(super) enum Broken {
    Panicked(Box<str>),
    TimedOut,
}

/// Returns the result of a call, or its panic. The call itself may panic before there is a future.
pub(super) async fn contained<T, F: Future<Output = T>>(call: impl FnOnce() -> F) -> Result<T, Box<str>> {
    let call = AssertUnwindSafe(async { call().await }).catch_unwind();
    call.await.map_err(|payload| Panic::of(payload).text().into())
}

/// Returns the result of a call, or the failure of the port.
pub(super) async fn limited<T, E, F>(
    name: &'static str,
    (limit, progress): (Duration, &Progress),
    call: impl FnOnce() -> F,
) -> Result<T, PortFailure<E>>
where
    F: Future<Output = Result<T, E>>,
{
    let result = tokio::select! {
        biased;
        result = contained(call) => result.map_err(Broken::Panicked),
        () = progress.stalled(limit) => Err(Broken::TimedOut),
    };
    match result {
        Ok(result) => result.map_err(PortFailure::Failed),
        Err(Broken::Panicked(text)) => Err(PortFailure::Panicked { call: name, text }),
        Err(Broken::TimedOut) => Err(PortFailure::TimedOut { call: name, limit }),
    }
}
