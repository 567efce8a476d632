//! One binary for all integration tests of this crate, because linking dominates their build time.
#![cfg(all(not(machinery_loom), feature = "tokio", feature = "prometheus", feature = "testing"))]
#![allow(clippy::unwrap_used, reason = "in helpers too, which clippy does not know for tests")]

mod clock;
mod defects;
mod dropping;
mod end;
mod examples;
mod metrics;
mod model;
mod parity;
mod promises;
mod settings;

use machinery_workqueue::{Config, ManualClock, Queue, Work};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Creates a queue with a manual clock, without randomness.
fn queue(config: Config<u32>) -> (Queue<u32>, ManualClock<u32>) {
    Queue::manual(Config { seed: Some(1), ..config }).expect("the settings make sense")
}

fn default() -> (Queue<u32>, ManualClock<u32>) {
    queue(Config::default())
}

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// Takes the ready keys, in order, and completes each.
fn ready(queue: &Queue<u32>) -> Vec<u32> {
    std::iter::from_fn(|| queue.try_get().map(done)).collect()
}

fn done(work: Work<u32>) -> u32 {
    let key = *work.key();
    work.done();
    key
}

/// Awaits a future for at most a day of the test's clock. Under paused time, a wait that never ends
/// fails at once instead of hanging.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(86_400), future).await.expect("it comes within a day")
}

/// Yields to other tasks until a condition holds.
async fn until(mut holds: impl FnMut() -> bool) {
    for _ in 0..100_000 {
        if holds() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("it never came to hold");
}

/// Returns the output of a future that is ready at the first poll.
fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}
