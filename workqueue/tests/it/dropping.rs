//! A worker dropped at any await, or returning early by `?`, leaves its key queued.

use super::{default, ms, now, queue};
use machinery_workqueue::{Add, Config, Queue, Work};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

/// Three awaits, each of which yields once.
async fn worker(queue: Queue<u32>, steps: u32) {
    while let Some(work) = queue.get().await {
        for _ in 0..steps {
            tokio::task::yield_now().await;
        }
        work.done();
    }
}

#[test]
fn a_worker_dropped_at_each_of_its_awaits_loses_nothing() {
    for awaits in 0..=6 {
        let (queue, clock) = default();
        {
            let mut worker = pin!(worker(queue.clone(), 5));
            let mut cx = Context::from_waker(Waker::noop());
            // At its first await it waits for a key, which is added now.
            assert!(worker.as_mut().poll(&mut cx).is_pending());
            queue.add(1).unwrap();
            for _ in 0..awaits {
                assert!(worker.as_mut().poll(&mut cx).is_pending());
            }
        }
        clock.advance(ms(10));
        let left = queue.list();
        match awaits {
            6 => assert_eq!(left, [], "it had come to its end"),
            _ => assert_eq!((left.len(), queue.len()), (1, 1), "dropped at await {awaits}: the key is ready"),
        }
    }
}

#[test]
fn an_early_return_before_done_loses_nothing() {
    fn reconcile(work: Work<u32>) -> Result<(), std::num::ParseIntError> {
        let _port: u16 = "not a number".parse()?;
        work.done();
        Ok(())
    }
    let (queue, clock) = default();
    queue.add(1).unwrap();
    assert!(reconcile(queue.try_get().unwrap()).is_err());
    clock.advance(ms(10));
    assert_eq!(queue.try_get().unwrap().attempts(), 1);
}

#[test]
fn a_panic_before_done_loses_nothing() {
    let (queue, clock) = default();
    queue.add(1).unwrap();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _work = queue.try_get().unwrap();
        panic!("on purpose");
    }));
    assert!(result.is_err());
    clock.advance(ms(10));
    assert_eq!((queue.len(), queue.stats().abandoned), (1, 1));
}

#[test]
fn a_dropped_get_batch_or_batch_loses_nothing() {
    let (queue, clock) = default();
    {
        let mut get = pin!(queue.get_batch(4));
        assert!(get.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        queue.add(1).unwrap();
    }
    assert_eq!(queue.len(), 1, "a wait takes nothing");
    drop(now(queue.get_batch(4)).unwrap());
    clock.advance(ms(10));
    assert_eq!(queue.len(), 1, "a batch that was taken is retried");
}

/// A panic of the user's code under the lock leaves the queue consistent.
#[test]
fn a_panic_in_a_keys_clone_leaves_the_queue_whole() {
    let (queue, _clock) = Queue::<Touchy>::manual(Config::default()).unwrap();
    queue.add(Touchy(1)).unwrap();
    PANICS_AT.set(1);
    assert!(catch(|| queue.try_get()).is_err());
    PANICS_AT.set(0);
    queue.try_get().unwrap().done();
    assert!(queue.list().is_empty());
}

/// The limiter's panic is passed to the caller, and the key is delayed by a second.
#[test]
fn a_panic_in_a_limiter_delays_the_key_and_goes_on() {
    use machinery_workqueue::limiter::{RateLimiter, RetryContext};
    struct Broken;
    impl RateLimiter for Broken {
        fn peek(&self, _: &RetryContext) -> std::time::Duration {
            panic!("on purpose");
        }
    }
    let (queue, clock) = queue(Config { backoff: Box::new(Broken), ..Config::default() });
    queue.add(1).unwrap();
    let work = queue.try_get().unwrap();
    assert!(catch(|| work.retry("no")).is_err());
    clock.advance(ms(1000));
    let work = queue.try_get().unwrap();
    assert_eq!(work.attempts(), 1);
    assert!(catch(|| drop(work)).is_err(), "dropped, it is the same");
    assert_eq!(queue.stats().delayed, 1);
}

#[test]
fn a_panic_in_a_dead_letter_hook_loses_no_other_key_of_a_batch() {
    let config = Config {
        max_tries: std::num::NonZeroU16::new(1),
        dead_letter: Some(Box::new(|letter| assert_ne!(letter.key, 1, "on purpose"))),
        ..Config::default()
    };
    let (queue, _clock) = queue(config);
    for iterated in [false, true] {
        queue.add_all(0..4, Add::new()).unwrap();
        let batch = now(queue.get_batch(4)).unwrap().unwrap();
        let dropped = catch(|| if iterated { drop(batch.into_iter()) } else { drop(batch) });
        assert!(dropped.is_err());
        assert_eq!(queue.list(), [], "every one of them was answered");
    }
}

#[test]
fn a_panic_in_one_keys_clone_loses_no_other_key_of_a_batch() {
    let (queue, _clock) = Queue::<Touchy>::manual(Config::default()).unwrap();
    queue.add_all((1..=3).map(Touchy), Add::new()).unwrap();
    PANICS_AT.set(3);
    let batch = now(queue.get_batch(9)).unwrap().unwrap();
    assert_eq!(batch.len(), 2);
    assert!(catch(|| queue.try_get()).is_err());
    PANICS_AT.set(0);
    batch.done();
    assert_eq!(queue.try_get().map(|work| work.key().0), Some(3));
}

/// A panic in the middle of `add_all` still wakes waiters for the keys added before it.
#[test]
fn a_panic_in_a_keys_eq_still_sends_pending_wakes() {
    let (queue, _clock) = Queue::<Touchy>::manual(Config::default()).unwrap();
    queue.add(Touchy(7)).unwrap();
    queue.try_get().unwrap().after(ms(10));
    let mut waiting = pin!(queue.get());
    let flag = futures::task::noop_waker();
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&flag)).is_pending());
    EQ_PANICS_AT.set(7);
    assert!(catch(|| queue.add_all([Touchy(1), Touchy(7)], Add::new())).is_err());
    EQ_PANICS_AT.set(0);
    assert!(format!("{:?}", queue).contains("ready: 1"));
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&flag)).is_ready());
}

fn catch<T>(code: impl FnOnce() -> T) -> std::thread::Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(code))
}

thread_local! {
    static PANICS_AT: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
    static EQ_PANICS_AT: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

/// A key with a clone and comparison that panic on demand.
#[derive(Eq, Debug)]
struct Touchy(u32);

impl std::hash::Hash for Touchy {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl PartialEq for Touchy {
    fn eq(&self, other: &Self) -> bool {
        assert_ne!(EQ_PANICS_AT.get(), self.0, "on purpose");
        self.0 == other.0
    }
}

impl Clone for Touchy {
    fn clone(&self) -> Self {
        assert_ne!(PANICS_AT.get(), self.0, "on purpose");
        Self(self.0)
    }
}
