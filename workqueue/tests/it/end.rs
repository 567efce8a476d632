//! Close and drain.

use super::{default, done, ms, now, queue, ready, soon};
use machinery_workqueue::{AddError, Config, KeyState, Next, Queue};
use std::convert::Infallible;
use std::time::Duration;

#[test]
fn a_drain_ends_at_its_deadline_with_the_leftovers() {
    let (queue, clock) = default();
    queue.add(1).unwrap();
    queue.add(2).unwrap();
    let out = queue.try_get().unwrap();
    assert!(now(queue.drain(ms(100))).is_none());
    clock.advance(ms(100));
    let drained = now(queue.drain(ms(100))).unwrap();
    let mut left: Vec<_> = drained.leftovers.iter().map(|seen| (seen.key, seen.state)).collect();
    left.sort_by_key(|&(key, _)| key);
    assert_eq!(left, [(1, KeyState::InFlight { rerun: None }), (2, KeyState::Ready)]);
    assert!(now(queue.get()).unwrap().is_none(), "nothing is handed out after the deadline");
    out.done();
    assert_eq!(queue.list().len(), 1, "an answer still counts");
}

#[test]
fn a_drain_waits_for_delays_that_end_before_its_deadline_and_for_no_others() {
    let (queue, clock) = default();
    queue.add_after(1, ms(40)).unwrap();
    queue.add_after(2, ms(600_000)).unwrap();
    assert!(now(queue.drain(ms(100))).is_none());
    clock.advance(ms(40));
    assert_eq!(done(queue.try_get().unwrap()), 1);
    let drained = now(queue.drain(ms(100))).unwrap();
    assert_eq!(drained.leftovers[0].key, 2, "ten minutes of back-off do not hold it up");
}

#[test]
fn a_dropped_drain_goes_on() {
    let (queue, clock) = default();
    queue.add(1).unwrap();
    drop(now(queue.drain(ms(100))));
    assert_eq!(queue.add(2), Err(AddError::Closed(2)));
    clock.advance(ms(100));
    assert!(now(queue.get()).unwrap().is_none());
}

#[test]
fn of_two_drains_the_earlier_deadline_counts() {
    let (queue, clock) = default();
    queue.add(1).unwrap();
    assert!(now(queue.drain(ms(500))).is_none());
    assert!(now(queue.drain(ms(100))).is_none());
    assert!(now(queue.drain(ms(900))).is_none());
    clock.advance(ms(100));
    assert_eq!(now(queue.drain(ms(900))).unwrap().leftovers.len(), 1);
}

#[test]
fn an_empty_queue_is_drained_at_once_and_stays_so() {
    let (queue, _clock) = default();
    assert_eq!(now(queue.drain(Duration::MAX)).unwrap().leftovers, []);
    assert_eq!(now(queue.drain(Duration::ZERO)).unwrap().leftovers, []);
    assert!(now(queue.get()).unwrap().is_none());
    queue.close();
    assert!(now(queue.get()).unwrap().is_none());
}

#[test]
fn a_cancel_can_end_a_drain() {
    let (queue, _clock) = default();
    queue.add_after(1, ms(50)).unwrap();
    assert!(now(queue.drain(ms(100))).is_none());
    assert!(queue.cancel(&1));
    assert_eq!(now(queue.drain(ms(100))).unwrap().leftovers, []);
}

#[test]
fn after_a_close_retries_are_kept_and_due_keys_are_handed_out() {
    let (queue, clock) = queue(Config::default());
    queue.add(1).unwrap();
    let work = queue.try_get().unwrap();
    queue.close();
    work.retry("no");
    assert_eq!(ready(&queue), [0_u32; 0]);
    clock.advance(ms(10));
    assert_eq!(ready(&queue), [1]);
}

/// Workers process the remaining keys, a panic costs one run, and all workers have ended when `run`
/// returns.
#[tokio::test(start_paused = true)]
async fn workers_run_until_the_drain_is_over() {
    let queue = Queue::<u32>::new(Config::default()).unwrap();
    queue.add_all(0..100, machinery_workqueue::Add::new()).unwrap();
    let handler = async |run: machinery_workqueue::Run<u32>| {
        tokio::time::sleep(ms(3)).await;
        assert!(run.key != 7 || run.attempts > 0, "once");
        match (run.key, run.attempts) {
            (9, 0) => Err("failed"),
            (11, 0) if !run.causes.iter().any(|(cause, _)| cause.name() == "after") => Ok(Next::After(ms(1))),
            _ => Ok(Next::Done),
        }
    };
    let running = tokio::task::JoinSet::from_iter([{
        let queue = queue.clone();
        async move { queue.run(8, handler).await }
    }]);
    tokio::time::sleep(ms(1)).await;
    assert_eq!(queue.stats().in_flight, 8);
    let drained = soon(queue.drain(Duration::from_secs(10))).await;
    assert_eq!(drained.leftovers, []);
    assert_eq!(running.join_all().await, [Ok(())]);
    let stats = queue.stats();
    assert_eq!((stats.handed_out, stats.retries, stats.abandoned), (103, 2, 1));
}

#[tokio::test(start_paused = true)]
async fn dropping_run_requeues_the_keys_of_its_workers() {
    let queue = Queue::<u32>::new(Config::default()).unwrap();
    queue.add(1).unwrap();
    let never = async |_| {
        std::future::pending::<()>().await;
        Ok::<_, Infallible>(Next::Done)
    };
    assert!(tokio::time::timeout(ms(10), queue.run(2, never)).await.is_err());
    let work = soon(queue.get()).await.unwrap();
    assert_eq!((*work.key(), work.attempts()), (1, 1));
    work.done();
}
