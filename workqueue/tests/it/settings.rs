//! Absurd input: a typed error or a documented clamp, never a panic, never a silent drop.

use super::{default, ms, now, queue, ready};
use machinery_workqueue::limiter::{LimiterError, TokenBucket};
use machinery_workqueue::{
    Add, AddError, Config, ConfigError, Debounce, KeyState, MAX_DELAY, Next, Priority, Queue,
};
use std::convert::Infallible;
use std::time::Duration;

#[test]
fn a_key_beyond_the_capacity_comes_back() {
    let (queue, _clock) = queue(Config { capacity: 2, ..Config::default() });
    queue.add(1).unwrap();
    queue.add_after(2, ms(50)).unwrap();
    let refused = queue.add(3).unwrap_err();
    assert_eq!(refused, AddError::Full { key: 3, limit: 2 });
    assert!(refused.to_string().contains("raise `Config::capacity`"), "{refused}");
    assert_eq!(refused.into_key(), 3);
    assert_eq!(queue.add_all([1, 2, 7, 8], Add::new()).unwrap_err().into_key(), 7);
    assert_eq!(queue.stats().refused_full, 2);

    assert!(queue.add(1).is_ok() && queue.add(2).is_ok(), "a key that is in has its place");
    let work = queue.try_get().unwrap();
    assert!(queue.add(3).is_err(), "a key in flight counts: it may be retried");
    work.retry("no");
    assert_eq!(queue.list().len(), 2, "a retry is never refused");
}

#[test]
fn absurd_settings_are_typed_errors() {
    let refused = |config: Config<u32>| Queue::manual(config).map(|_| ()).unwrap_err();
    assert_eq!(refused(Config { capacity: 0, ..Config::default() }), ConfigError::NoCapacity);
    assert_eq!(
        refused(Config { aging: Duration::ZERO, ..Config::default() }),
        ConfigError::AgingOutOfRange(Duration::ZERO)
    );
    assert!(matches!(Debounce::new(ms(2), ms(1)), Err(ConfigError::MaxWaitBelowQuiet { .. })));
    assert!(matches!(TokenBucket::new(0.0, 1), Err(LimiterError::BadRate(_))));
}

#[tokio::test]
async fn no_workers_is_an_error_and_so_are_too_many() {
    let queue = Queue::<u32>::new(Config::default()).unwrap();
    let handler = async |_| Ok::<_, Infallible>(Next::Done);
    assert_eq!(queue.run(0, handler).await, Err(ConfigError::NoWorkers));
    assert_eq!(queue.run(usize::MAX, handler).await, Err(ConfigError::TooManyWorkers(usize::MAX)));
}

#[test]
fn outside_a_runtime_new_is_an_error() {
    assert_eq!(Queue::<u32>::new(Config::default()).map(|_| ()), Err(ConfigError::NoRuntime));
    let timeless = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let made = timeless.block_on(async { Queue::<u32>::new(Config::default()).map(|_| ()) });
    assert_eq!(made, Err(ConfigError::NoRuntime));
}

#[test]
fn a_delay_beyond_the_maximum_is_clamped_and_merges_normally() {
    let (queue, clock) = default();
    queue.add_after(1, Duration::MAX).unwrap();
    assert_eq!(queue.status(&1).unwrap().state, KeyState::Delayed { next: MAX_DELAY });
    queue.add(2).unwrap();
    queue.try_get().unwrap().after(Duration::MAX);
    let debounce = Debounce::new(Duration::MAX, Duration::MAX).unwrap();
    queue.add_with(3, Add::new().debounced(debounce)).unwrap();
    assert_eq!(queue.stats().delayed, 3);
    queue.add_after(2, ms(5)).unwrap();
    clock.advance(ms(5));
    assert_eq!(ready(&queue), [2]);
    clock.advance(MAX_DELAY);
    assert_eq!(ready(&queue), [1, 3]);
}

#[test]
fn a_clock_moved_beyond_its_range_stops_there() {
    let (queue, clock) = default();
    queue.add_after(1, MAX_DELAY).unwrap();
    for _ in 0..3 {
        clock.advance(Duration::MAX);
    }
    assert_eq!(ready(&queue), [1]);
    queue.add_after(2, ms(5)).unwrap();
    queue.add(3).unwrap();
    assert!(ready(&queue).contains(&3), "the queue still works, in time's last moment");

    // Beyond the wheel's 139 years, and with a total wait that exceeds a counter.
    let (queue, clock) = default();
    queue.add_all(0..2, Add::new()).unwrap();
    clock.advance(Duration::MAX);
    assert_eq!(ready(&queue), [0, 1]);
    let (queue, clock) = default();
    clock.advance(Duration::from_secs(200 * 365 * 24 * 3600));
    queue.add_after(1, ms(5)).unwrap();
    clock.advance(ms(5));
    assert_eq!(ready(&queue), [1]);
}

#[test]
fn workers_outside_a_runtime_are_an_error() {
    let (queue, _clock) = default();
    let run = queue.run(1, async |_| Ok::<_, Infallible>(Next::Done));
    assert_eq!(futures::executor::block_on(run), Err(ConfigError::NoRuntime));
}

/// The iterator yields further keys after its first `None`; the second call is refused.
#[test]
fn add_all_stops_at_the_first_none_of_an_iterator() {
    let (queue, _clock) = queue(Config { capacity: 10, ..Config::default() });
    let mut calls = 0;
    let keys = std::iter::from_fn(|| {
        calls += 1;
        (calls != 11).then_some(calls)
    });
    assert_eq!(queue.add_all(keys, Add::new()), Ok(10));
    assert_eq!(queue.add_all(5..99, Add::new()).unwrap_err().into_key(), 11);
}

#[test]
fn a_key_by_reference_is_cloned_only_if_it_is_new() {
    use std::sync::Arc;
    let (queue, _clock) = Queue::<Arc<str>>::manual(Config { capacity: 1, ..Config::default() }).unwrap();
    let key: Arc<str> = "cat.jpg".into();
    assert_eq!(queue.add_ref(&key, Add::new()), Ok(machinery_workqueue::Added::Queued));
    assert_eq!(queue.add_ref(&key, Add::new()), Ok(machinery_workqueue::Added::Merged));
    assert_eq!(Arc::strong_count(&key), 2);
    let other: Arc<str> = "dog.jpg".into();
    assert_eq!(queue.add_ref(&other, Add::new()).unwrap_err().into_key(), other);
}

/// Cancelled repeatedly beside a waiting key, tenants leave no lane behind.
#[test]
fn cancelled_tenants_leave_no_lane_behind() {
    let tenants = |key: &u32| *key;
    let (queue, _clock) = queue(Config { tenants: Some(Box::new(tenants)), ..Config::default() });
    queue.add(0).unwrap();
    for key in 1..10_000 {
        queue.add(key).unwrap();
        assert!(queue.cancel(&key));
    }
    assert_eq!(queue.queued_tenants(), 1);
}

#[test]
fn a_batch_size_of_zero_is_one_and_a_huge_one_is_the_ready_keys() {
    let (queue, _clock) = default();
    queue.add_all(0..10, Add::new().priority(Priority::new(i32::MIN))).unwrap();
    assert_eq!(now(queue.get_batch(0)).unwrap().unwrap().len(), 1);
    assert_eq!(now(queue.get_batch(usize::MAX)).unwrap().unwrap().len(), 9);
}

#[test]
fn a_key_iterator_may_use_the_queue() {
    let (queue, _clock) = default();
    let nested = (0..3).inspect(|key| {
        queue.add(key + 10).unwrap();
    });
    assert_eq!(queue.add_all(nested, Add::new()), Ok(3));
    assert_eq!(queue.len(), 6);
}

#[test]
fn a_dead_letter_hook_may_use_the_queue() {
    use std::sync::OnceLock;
    static QUEUE: OnceLock<Queue<u32>> = OnceLock::new();
    let hook = |letter: machinery_workqueue::DeadLetter<u32>| {
        QUEUE.get().unwrap().add_after(letter.key, ms(60_000)).unwrap();
    };
    let config = Config {
        max_tries: std::num::NonZeroU16::new(1),
        dead_letter: Some(Box::new(hook)),
        ..Config::default()
    };
    let (queue, _clock) = queue(config);
    assert!(QUEUE.set(queue.clone()).is_ok());
    queue.add(1).unwrap();
    drop(queue.try_get().unwrap());
    assert_eq!(queue.status(&1).unwrap().attempts, 0, "parked for a minute, with a clean slate");
}
