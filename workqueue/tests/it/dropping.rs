//! A worker can end at any await, and at any `?`. Its key is queued then, not lost.

use super::{default, ms, now, queue};
use machinery_workqueue::{Config, Queue, Work};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

/// Three awaits, each of which gives way once.
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
            // Before its first await it waits for a key; the key comes then.
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

/// Panics in the user's own `Clone` and limiter run under the lock: what they interrupt is still whole.
#[test]
fn a_panic_in_a_keys_clone_leaves_the_queue_whole() {
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    static PANICS: AtomicBool = AtomicBool::new(false);

    #[derive(PartialEq, Eq, Hash, Debug)]
    struct Touchy(u32);
    impl Clone for Touchy {
        fn clone(&self) -> Self {
            assert!(!PANICS.load(SeqCst), "on purpose");
            Self(self.0)
        }
    }

    let (queue, _clock) = Queue::<Touchy>::manual(Config::default()).unwrap();
    queue.add(Touchy(1)).unwrap();
    PANICS.store(true, SeqCst);
    let get = || queue.try_get();
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(get)).is_err());
    PANICS.store(false, SeqCst);
    queue.try_get().unwrap().done();
    assert!(queue.list().is_empty());
}

#[test]
fn a_panic_in_a_limiter_leaves_the_key_with_its_entry() {
    use machinery_workqueue::limiter::{Ask, RateLimiter};
    struct Broken;
    impl RateLimiter for Broken {
        fn look(&self, _: &Ask) -> std::time::Duration {
            panic!("on purpose");
        }
    }
    let (queue, _clock) = queue(Config { backoff: Box::new(Broken), ..Config::default() });
    queue.add(1).unwrap();
    let work = queue.try_get().unwrap();
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work.retry("no"))).is_err());
    assert_eq!(queue.list().len(), 1, "the queue goes on, and the key can be seen");
    queue.add(2).unwrap();
    assert_eq!(queue.len(), 1);
}
