//! client-go's tests of its queue (`util/workqueue`), on ours. Each is named after its original.

use super::{default, done, ms, now, queue, ready};
use machinery_workqueue::{Added, Config, Queue};
use std::sync::Arc;

#[test]
fn test_collapse() {
    let (queue, _clock) = default();
    for _ in 0..3 {
        queue.add(1).unwrap();
    }
    assert_eq!((queue.len(), ready(&queue)), (1, vec![1]));
}

#[test]
fn test_collapse_while_processing() {
    let (queue, _clock) = default();
    queue.add(1).unwrap();
    let work = queue.try_get().unwrap();
    for _ in 0..3 {
        assert_eq!(queue.add(1), Ok(Added::Rerun));
    }
    assert_eq!(queue.len(), 0, "a key in flight is not queued");
    work.done();
    assert_eq!(ready(&queue), [1]);
}

/// Also `TestReinsert`: the key is appended to the end of the queue.
#[test]
fn test_add_while_processing() {
    let (queue, _clock) = default();
    queue.add(1).unwrap();
    let work = queue.try_get().unwrap();
    queue.add(1).unwrap();
    queue.add(2).unwrap();
    work.done();
    assert_eq!(ready(&queue), [2, 1]);
}

#[test]
fn test_len() {
    let (queue, _clock) = default();
    assert!(queue.is_empty());
    queue.add(1).unwrap();
    queue.add(2).unwrap();
    queue.add(2).unwrap();
    queue.add_after(3, ms(10)).unwrap();
    assert_eq!(queue.len(), 2);
    let work = queue.try_get().unwrap();
    assert_eq!(queue.len(), 1);
    work.done();
    assert_eq!(queue.len(), 1);
}

#[test]
fn test_garbage_collection() {
    let (queue, _clock) = Queue::<Arc<str>>::manual(Config::default()).unwrap();
    let key: Arc<str> = "kept by nobody".into();
    queue.add(key.clone()).unwrap();
    queue.add(key.clone()).unwrap();
    assert_eq!(Arc::strong_count(&key), 2, "a merged add leaves nothing behind");
    queue.try_get().unwrap().done();
    queue.add_after(key.clone(), ms(10)).unwrap();
    queue.cancel(&key);
    assert_eq!(Arc::strong_count(&key), 1, "neither does a key that is done or cancelled");
}

#[test]
fn test_simple_queue_and_deduping_of_delays() {
    let (queue, clock) = default();
    queue.add_after(1, ms(50)).unwrap();
    queue.add_after(1, ms(70)).unwrap();
    assert_eq!(queue.stats().delayed, 1);
    clock.advance(ms(60));
    assert_eq!(ready(&queue), [1]);
    clock.advance(ms(20));
    assert_eq!(ready(&queue), [0_u32; 0], "the second delay was the same run");
    queue.add_after(2, ms(0)).unwrap();
    assert_eq!(ready(&queue), [2], "no delay is now");
}

#[test]
fn test_add_two_fire_early() {
    let (queue, clock) = default();
    queue.add_after(1, ms(1000)).unwrap();
    queue.add_after(2, ms(50)).unwrap();
    clock.advance(ms(50));
    assert_eq!(ready(&queue), [2]);
    queue.add_after(3, ms(2000)).unwrap();
    clock.advance(ms(950));
    assert_eq!(ready(&queue), [1]);
    clock.advance(ms(1050));
    assert_eq!(ready(&queue), [3]);
}

#[test]
fn test_copy_shifting() {
    let (queue, clock) = default();
    for (key, delay) in [(1, 1000), (2, 500), (3, 750)] {
        queue.add_after(key, ms(delay)).unwrap();
    }
    clock.advance(ms(2000));
    assert_eq!(ready(&queue), [2, 3, 1], "in the order of their times");
}

#[test]
fn test_no_queue_drainage_using_shut_down() {
    let (queue, _clock) = default();
    queue.add(1).unwrap();
    queue.add(2).unwrap();
    let out = queue.try_get().unwrap();
    queue.close();
    queue.close();
    assert!(queue.add(3).is_err());
    assert_eq!(ready(&queue), [2], "queued keys are still handed out");
    assert!(now(queue.get()).unwrap().is_none(), "then getters end, with a key in flight");
    out.done();
}

#[test]
fn test_force_queue_shutdown_using_shut_down() {
    let (queue, _clock) = default();
    queue.add(1).unwrap();
    let _out = queue.try_get().unwrap();
    assert!(now(queue.drain(ms(1000))).is_none());
    queue.close();
    let drained = now(queue.drain(ms(0)));
    assert_eq!(drained.unwrap().leftovers.len(), 1);
}

#[test]
fn test_queue_drainage_using_shut_down_with_drain_with_dirty_item() {
    let (queue, _clock) = default();
    queue.add(1).unwrap();
    let work = queue.try_get().unwrap();
    queue.add(1).unwrap();
    assert!(now(queue.drain(ms(1000))).is_none());
    work.done();
    assert!(now(queue.drain(ms(1000))).is_none(), "it was added while it was out, before the drain");
    assert_eq!(done(queue.try_get().unwrap()), 1);
    assert_eq!(now(queue.drain(ms(1000))).unwrap().leftovers, []);
    assert!(now(queue.get()).unwrap().is_none());
}

/// controller-runtime: "retains the lowest after duration", "will not decrease the priority".
#[test]
fn a_re_add_never_lowers_priority_nor_lengthens_a_delay() {
    use machinery_workqueue::{Add, Priority};
    let (queue, clock) = queue(Config::default());
    queue.add_with(1, Add::new().priority(Priority::HIGH).after(ms(10))).unwrap();
    queue.add_with(1, Add::new().priority(Priority::LOW).after(ms(90))).unwrap();
    clock.advance(ms(10));
    assert_eq!(queue.try_get().unwrap().priority(), Priority::HIGH);
}

/// controller-runtime: "should retain the priority after an error".
#[test]
fn a_retry_keeps_its_priority_and_a_new_add_can_raise_it() {
    use machinery_workqueue::{Add, Priority};
    let (queue, clock) = default();
    queue.add_with(1, Add::new().priority(Priority::LOW)).unwrap();
    queue.try_get().unwrap().retry("no");
    clock.advance(ms(10));
    let work = queue.try_get().unwrap();
    assert_eq!(work.priority(), Priority::LOW);
    queue.add_with(1, Add::new().priority(Priority::HIGH)).unwrap();
    work.retry("no");
    assert_eq!(queue.try_get().unwrap().priority(), Priority::HIGH);
}
