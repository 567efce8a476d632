//! A queue on tokio: the driver of its clock, its precision, and its end.

use super::{ms, soon, until};
use machinery_workqueue::limiter::Exponential;
use machinery_workqueue::{Add, Config, Queue, Retried};
use std::future::Future;
use std::time::Duration;
use tokio::time::{Instant, advance};

fn queue() -> Queue<u32> {
    Queue::new(Config { seed: Some(1), ..Config::default() }).unwrap()
}

fn tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

#[tokio::test(start_paused = true)]
async fn a_delay_ends_on_time_and_wakes_a_waiter() {
    let queue = queue();
    let start = Instant::now();
    for (key, delay) in [(1, 500), (2, 20), (3, 3_600_000)] {
        queue.add_after(key, ms(delay)).unwrap();
    }
    for (key, at) in [(2, 20), (1, 500), (3, 3_600_000)] {
        let work = soon(queue.get()).await.unwrap();
        assert_eq!((*work.key(), start.elapsed()), (key, ms(at)));
        work.done();
    }
}

#[tokio::test(start_paused = true)]
async fn a_shorter_delay_wakes_the_driver_earlier() {
    let queue = queue();
    let start = Instant::now();
    queue.add_after(1, ms(10_000)).unwrap();
    tokio::task::yield_now().await;
    queue.add_after(2, ms(100)).unwrap();
    assert_eq!(*soon(queue.get()).await.unwrap().key(), 2);
    assert_eq!(start.elapsed(), ms(100));
}

#[tokio::test(start_paused = true)]
async fn a_due_key_is_ready_before_the_driver_runs() {
    let queue = queue();
    queue.add_after(1, ms(10)).unwrap();
    advance(ms(10)).await;
    assert!(queue.try_get().is_some());
}

/// Thousands of operations in one millisecond: the queue ticks, and must neither lose time nor end
/// a delay early.
#[tokio::test(start_paused = true)]
async fn a_busy_queue_keeps_time() {
    let queue = queue();
    for round in 0..20_u64 {
        let start = Instant::now();
        for _ in 0..200 {
            queue.add(0).unwrap();
            queue.get().await.unwrap().done();
        }
        queue.add_after(1, ms(50 + round)).unwrap();
        queue.get().await.unwrap().done();
        assert_eq!(start.elapsed(), ms(50 + round));
    }
    let stats = queue.stats();
    assert_eq!(stats.waited.buckets().next(), Some((0.001, stats.handed_out)), "nothing was ready for long");
}

/// The thread was blocked, so no tick happened: a delay still counts from the exact time.
#[tokio::test(start_paused = true)]
async fn a_delay_does_not_end_early_because_a_tick_was_late() {
    let ways: [fn(&Queue<u32>); 3] = [
        |queue| assert!(queue.add_after(1, ms(50)).is_ok()),
        |queue| queue.try_get().unwrap().after(ms(50)),
        |queue| assert_eq!(queue.try_get().unwrap().retry("no"), Retried::After(ms(50))),
    ];
    for way in ways {
        let backoff = Exponential::new(ms(50), ms(50)).unwrap().jitter(0.0).unwrap();
        let queue = Queue::new(Config { backoff: Box::new(backoff), ..Config::default() }).unwrap();
        for _ in 0..200 {
            queue.add(0).unwrap();
            queue.try_get().unwrap().done();
        }
        queue.add(1).unwrap();
        // Time advances and no other task has run.
        let advanced = advance(ms(70));
        tokio::pin!(advanced);
        let _ = futures::poll!(&mut advanced);
        let start = Instant::now();
        way(&queue);
        advanced.await;
        if let Some(at_once) = queue.try_get() {
            // Of `add_after`: the plain add was merged into it, and is earlier.
            at_once.done();
            queue.add_after(1, ms(50)).unwrap();
        }
        soon(queue.get()).await.unwrap().done();
        assert!(start.elapsed() >= ms(50), "{:?}", start.elapsed());
    }
}

/// A drain ended by `close` does not stop the queue: a second drain has its own deadline.
#[tokio::test(start_paused = true)]
async fn a_drain_after_a_close_after_a_drain_has_its_deadline() {
    let queue = queue();
    queue.add(1).unwrap();
    let out = soon(queue.get()).await.unwrap();
    let (first, ()) = tokio::join!(queue.drain(ms(1000)), async { queue.close() });
    assert_eq!(first.leftovers.len(), 1);
    let start = Instant::now();
    assert_eq!(soon(queue.drain(ms(300))).await.leftovers.len(), 1);
    assert_eq!(start.elapsed(), ms(300));
    out.done();
}

/// The runtime is dropped while ticking: reads from outside still have the exact time.
#[test]
fn a_queue_without_its_runtime_still_knows_the_time() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
    let queue = runtime.block_on(async { queue() });
    for _ in 0..1000 {
        queue.add(0).unwrap();
        queue.try_get().unwrap().done();
    }
    queue.add_after(1, ms(1)).unwrap();
    drop(runtime);
    while queue.try_get().is_none() {
        std::thread::yield_now();
    }
}

#[tokio::test(start_paused = true)]
async fn one_waiter_wakes_per_ready_key() {
    let queue = queue();
    let waiting = tokio::task::JoinSet::from_iter((0..5).map(|_| {
        let queue = queue.clone();
        async move { queue.get().await.map(|work| work.done()) }
    }));
    tokio::task::yield_now().await;
    queue.add_all(0..3, Add::new().after(ms(10))).unwrap();
    queue.add_all(3..5, Add::new()).unwrap();
    assert_eq!(soon(waiting.join_all()).await, [Some(()); 5], "by one add of many, and by one tick for many");
}

/// Sixty-five keys and sixty-six waiters: the waiter that yields is dropped.
#[test]
fn a_get_dropped_while_yielding_passes_its_wake_on() {
    use futures::task::{ArcWake, waker};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    struct Flag(AtomicBool);
    impl ArcWake for Flag {
        fn wake_by_ref(flag: &Arc<Self>) {
            flag.0.store(true, SeqCst);
        }
    }
    let (queue, _clock) = Queue::<u32>::manual(Config::default()).unwrap();
    let flags: Vec<Arc<Flag>> = (0..66).map(|_| Arc::new(Flag(AtomicBool::new(false)))).collect();
    let mut gets: Vec<_> = flags.iter().map(|_| Some(Box::pin(queue.get()))).collect();
    fn poll<F: Future>(
        get: &mut Option<std::pin::Pin<Box<F>>>,
        flag: &Arc<Flag>,
    ) -> std::task::Poll<F::Output> {
        let waker = waker(flag.clone());
        get.as_mut().unwrap().as_mut().poll(&mut std::task::Context::from_waker(&waker))
    }
    for i in 0..66 {
        assert!(poll(&mut gets[i], &flags[i]).is_pending());
    }
    queue.add_all(0..65, Add::new()).unwrap();
    let works: Vec<_> = (0..64).map(|i| poll(&mut gets[i], &flags[i])).collect();
    assert!(works.iter().all(std::task::Poll::is_ready));
    assert!(poll(&mut gets[64], &flags[64]).is_pending(), "there is a key, but others have a turn first");
    gets[64] = None;
    assert!(flags[65].0.load(SeqCst), "the last one hears of the key");
    assert!(poll(&mut gets[65], &flags[65]).is_ready());
}

/// The seed determines every jitter, so a run can be replayed.
#[test]
fn the_same_seed_gives_the_same_jitter() {
    let waits = |seed| {
        let (queue, _clock) = Queue::manual(Config { seed: Some(seed), ..Config::default() }).unwrap();
        let fail = |key: u32| {
            queue.add(key).unwrap();
            queue.try_get().unwrap().retry("no")
        };
        (0..10).map(fail).collect::<Vec<_>>()
    };
    assert_eq!(waits(1), waits(1));
    assert_ne!(waits(1), waits(2));
}

#[tokio::test(start_paused = true)]
async fn an_idle_queue_has_no_wake_ups() {
    let queue = queue();
    advance(ms(5)).await;
    for _ in 0..1000 {
        queue.add(0).unwrap();
        queue.try_get().unwrap().done();
    }
    // Paused time moves only when every task sleeps, and then to the next timer. If the driver
    // ticked on, an hour would be millions of turns of this loop.
    let before = tokio::runtime::Handle::current().metrics().worker_park_count(0);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let polls = tokio::runtime::Handle::current().metrics().worker_park_count(0) - before;
    assert!(polls < 20, "{polls} wake-ups in an hour of rest");
}

#[tokio::test]
async fn a_busy_worker_yields_to_other_tasks() {
    let queue = queue();
    let other = tokio::task::JoinSet::from_iter([async { 7 }]);
    let mut turns = 0_u32;
    let work = async {
        loop {
            queue.add(1).unwrap();
            queue.get().await.unwrap().done();
            turns += 1;
        }
    };
    let first = tokio::select! {
        biased;
        () = work => unreachable!("it never ends"),
        done = other.join_all() => done,
    };
    assert_eq!(first, [7]);
    assert!(turns >= 64, "it had a fair share: {turns}");
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_handle_ends_the_driver() {
    assert_eq!(tasks(), 0);
    let queue = queue();
    queue.add_after(1, ms(60_000)).unwrap();
    queue.add(2).unwrap();
    let work = soon(queue.get()).await.unwrap();
    drop(queue);
    tokio::task::yield_now().await;
    assert_eq!(tasks(), 1, "a work is a handle too");
    work.done();
    let start = Instant::now();
    until(|| tasks() == 0).await;
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_drained_queue_has_no_task_and_returns_at_once() {
    let queue = queue();
    queue.add_after(1, ms(600_000)).unwrap();
    let drained = soon(queue.drain(ms(10))).await;
    assert_eq!((drained.leftovers.len(), tasks()), (1, 0));
    for _ in 0..1000 {
        assert!(soon(queue.get()).await.is_none());
        assert!(queue.add(1).is_err());
    }
    advance(ms(5)).await;
    assert_eq!(queue.status(&1).unwrap().age, ms(5), "reads still advance the time");
}

#[tokio::test(start_paused = true)]
async fn a_drain_ends_at_its_deadline_in_tokios_time() {
    let queue = queue();
    queue.add(1).unwrap();
    let out = soon(queue.get()).await.unwrap();
    let start = Instant::now();
    let drained = soon(queue.drain(ms(300))).await;
    assert_eq!((start.elapsed(), drained.leftovers.len()), (ms(300), 1));
    out.done();
}

/// A queue created in one runtime works from anywhere, a plain thread included.
#[test]
fn a_queue_works_from_outside_its_runtime() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
    let queue = runtime.block_on(async { queue() });
    queue.add_after(1, ms(1)).unwrap();
    let work = futures::executor::block_on(queue.get()).unwrap();
    work.done();
    fn is_send(_: impl Future + Send) {}
    is_send(async move { queue.get().await });
}

/// After a suspend or a change of the clock, time continues from there, and a key that was due
/// meanwhile runs once.
#[test]
fn a_clock_that_jumps_by_years_hands_out_each_once() {
    let years = |years: u64| Duration::from_secs(years * 365 * 24 * 3600);
    let (queue, clock) = super::default();
    for key in 0..100 {
        queue.add_after(key, ms(u64::from(key) * 1000)).unwrap();
    }
    let work = queue.try_get().unwrap();
    for jump in [1, 100] {
        clock.advance(years(jump));
        assert_eq!(queue.len(), 99, "{jump}");
    }
    assert!(matches!(work.retry("no"), Retried::After(wait) if wait <= ms(5)), "its back-off begins now");
    assert_eq!(super::ready(&queue).len(), 99);
    clock.advance(Duration::MAX);
    assert_eq!(super::ready(&queue), [0]);
    queue.add_after(7, years(1)).unwrap();
    assert_eq!(super::ready(&queue), [7], "139 years after its beginning a queue has no later");
}
