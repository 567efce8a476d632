//! Every interleaving of the queue, through its public API, with causes, priorities and the counts
//! behind the metrics (their text form is a default feature, and loom builds have none).
//!
//! Three threads at preemption bound 3, four (main is one) at bound 2. One claim each.
#![cfg(machinery_loom)]

use loom::future::block_on;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use loom::thread;
use machinery_workqueue::{Add, Added, Cause, Config, ManualClock, Priority, Queue, Work};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

const MILLISECOND: Duration = Duration::from_millis(1);

fn model(preemptions: usize, test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(test);
}

fn queue() -> (Queue<u8>, ManualClock<u8>) {
    Queue::manual(Config { seed: Some(1), ..Config::default() }).expect("the defaults make sense")
}

fn add(queue: &Queue<u8>, key: u8, number: u64) -> Added {
    let add = Add::new().priority(Priority::HIGH).cause(Cause::new(&"loom", number));
    queue.add_with(key, add).expect("the queue is open and has room")
}

/// Takes keys until the end of the queue; fails if another worker has the same key. Returns their
/// number.
fn work(queue: &Queue<u8>, held: &AtomicBool) -> usize {
    let mut runs = 0;
    while let Some(work) = block_on(queue.get()) {
        assert!(!held.swap(true, SeqCst), "one key is out twice");
        assert!(!work.causes().is_empty());
        runs += 1;
        held.store(false, SeqCst);
        work.done();
    }
    runs
}

fn producers_and_workers(preemptions: usize, producers: u64) {
    model(preemptions, move || {
        let (queue, _clock) = queue();
        let held = Arc::new(AtomicBool::new(false));
        let spawn_worker = || {
            let (queue, held) = (queue.clone(), held.clone());
            thread::spawn(move || work(&queue, &held))
        };
        let workers = [spawn_worker(), spawn_worker()];
        let other = (producers == 2).then(|| {
            let queue = queue.clone();
            thread::spawn(move || add(&queue, 1, 2))
        });
        let added = [Some(add(&queue, 1, 1)), other.map(|other| other.join().expect("it did not panic"))];
        queue.close();
        let runs: usize = workers.map(|worker| worker.join().expect("it did not panic")).into_iter().sum();
        let wanted = added.into_iter().flatten().filter(|&added| added != Added::Merged).count();
        assert_eq!(runs, wanted, "each add that was not merged is one run");
        assert_eq!(queue.stats().handed_out, runs as u64);
    });
}

#[test]
fn one_producer_and_two_workers_never_hold_one_key_twice() {
    producers_and_workers(3, 1);
}

#[test]
fn two_producers_and_two_workers_never_hold_one_key_twice() {
    producers_and_workers(2, 2);
}

#[test]
fn a_get_dropped_after_its_wake_passes_the_wake_on() {
    model(3, || {
        let (queue, _clock) = queue();
        let fickle = {
            let queue = queue.clone();
            thread::spawn(move || {
                let taken = block_on(async {
                    let mut get = pin!(queue.get());
                    std::future::poll_fn(|cx| match get.as_mut().poll(cx) {
                        Poll::Ready(work) => Poll::Ready(work),
                        Poll::Pending => Poll::Ready(None),
                    })
                    .await
                });
                // If this getter got the key first, it adds the key again for the other getter.
                if let Some(work) = taken {
                    work.done();
                    add(&queue, 1, 2);
                }
            })
        };
        let patient = {
            let queue = queue.clone();
            thread::spawn(move || block_on(queue.get()).map(Work::done))
        };
        add(&queue, 1, 1);
        fickle.join().expect("it did not panic");
        assert_eq!(patient.join().expect("it did not panic"), Some(()), "the remaining getter gets the key");
    });
}

#[test]
fn an_add_while_in_flight_is_never_lost() {
    model(3, || {
        let (queue, _clock) = queue();
        add(&queue, 1, 1);
        let work = queue.try_get().expect("it was just added");
        let waiting = {
            let queue = queue.clone();
            thread::spawn(move || block_on(queue.get()).map(Work::done))
        };
        let adding = {
            let queue = queue.clone();
            thread::spawn(move || add(&queue, 1, 2))
        };
        work.done();
        assert_ne!(adding.join().expect("it did not panic"), Added::Merged);
        assert_eq!(waiting.join().expect("it did not panic"), Some(()), "the add is a run of its own");
        assert!(queue.list().is_empty());
    });
}

#[test]
fn an_add_beside_an_abandoned_work_is_never_lost() {
    model(3, || {
        let (queue, _clock) = queue();
        add(&queue, 1, 1);
        let work = queue.try_get().expect("it was just added");
        let adding = {
            let queue = queue.clone();
            thread::spawn(move || add(&queue, 1, 2))
        };
        drop(work);
        adding.join().expect("it did not panic");
        let work = queue.try_get().expect("an add beats the back-off, whichever came first");
        assert_eq!(work.attempts(), 1);
        work.done();
        assert!(queue.list().is_empty(), "and there is no second entry for the back-off");
    });
}

#[test]
fn an_immediate_add_racing_a_due_delay_is_one_run() {
    model(3, || {
        let (queue, clock) = queue();
        queue.add_after(1, MILLISECOND).expect("there is room");
        let adding = {
            let queue = queue.clone();
            thread::spawn(move || add(&queue, 1, 2))
        };
        let turning = thread::spawn(move || clock.advance(MILLISECOND));
        let work = block_on(queue.get()).expect("the queue is open");
        turning.join().expect("it did not panic");
        let added = adding.join().expect("it did not panic");
        work.done();
        // Unless the key was in flight when the add arrived, there is no second run.
        assert_eq!(queue.try_get().map(Work::done).is_some(), added == Added::Rerun);
        assert!(queue.list().is_empty());
    });
}

#[test]
fn a_drain_racing_an_add_hands_the_key_out_or_refuses_it() {
    model(3, || {
        let (queue, _clock) = queue();
        let adding = {
            let queue = queue.clone();
            thread::spawn(move || queue.add(1).is_ok())
        };
        let working = {
            let queue = queue.clone();
            thread::spawn(move || {
                let mut runs = 0;
                while let Some(work) = block_on(queue.get()) {
                    runs += 1;
                    work.done();
                }
                runs
            })
        };
        let drained = block_on(queue.drain(Duration::from_secs(60)));
        assert_eq!(drained.leftovers, [], "there was all the time in the world");
        let added = adding.join().expect("it did not panic");
        assert_eq!(working.join().expect("it did not panic"), usize::from(added));
    });
}

#[test]
fn a_drain_waits_for_keys_in_flight_and_their_retries() {
    model(3, || {
        let (queue, _clock) = queue();
        add(&queue, 1, 1);
        let answered = Arc::new(AtomicUsize::new(0));
        let working = {
            let (queue, answered) = (queue.clone(), answered.clone());
            thread::spawn(move || {
                let mut first = true;
                while let Some(work) = block_on(queue.get()) {
                    if std::mem::take(&mut first) {
                        work.after(Duration::ZERO);
                    } else {
                        answered.fetch_add(1, SeqCst);
                        work.done();
                    }
                }
            })
        };
        let drained = block_on(queue.drain(Duration::from_secs(60)));
        assert_eq!((drained.leftovers, answered.load(SeqCst)), (vec![], 1));
        working.join().expect("it did not panic");
    });
}

#[test]
fn a_deadline_ends_a_drain_and_every_waiting_get() {
    model(3, || {
        let (queue, clock) = queue();
        queue.add_after(1, MILLISECOND * 5).expect("there is room");
        let getting = {
            let queue = queue.clone();
            thread::spawn(move || block_on(queue.get()).map(Work::done))
        };
        let turning = thread::spawn(move || {
            clock.advance(MILLISECOND);
            clock.advance(MILLISECOND);
        });
        let left = block_on(queue.drain(MILLISECOND)).leftovers.len();
        turning.join().expect("it did not panic");
        assert_eq!((left, getting.join().expect("it did not panic")), (1, None));
    });
}

#[test]
fn a_cancel_racing_a_get_has_one_winner() {
    model(3, || {
        let (queue, _clock) = queue();
        let adding = {
            let queue = queue.clone();
            thread::spawn(move || add(&queue, 1, 1))
        };
        let cancelling = {
            let queue = queue.clone();
            thread::spawn(move || queue.cancel(&1))
        };
        let got = queue.try_get().map(Work::done).is_some();
        adding.join().expect("it did not panic");
        let cancelled = cancelling.join().expect("it did not panic");
        let left = queue.try_get().map(Work::done).is_some();
        assert_eq!(
            [got, cancelled, left].into_iter().filter(|&won| won).count(),
            1,
            "one add, one of the three"
        );
        assert!(queue.list().is_empty());
    });
}

#[test]
fn a_close_wakes_every_waiter() {
    model(3, || {
        let (queue, _clock) = queue();
        let waiting = [(), ()].map(|()| {
            let queue = queue.clone();
            thread::spawn(move || block_on(queue.get()).is_none())
        });
        queue.close();
        for waiting in waiting {
            assert!(waiting.join().expect("it did not panic"));
        }
    });
}

#[test]
fn a_batch_is_as_exclusive_as_a_work() {
    model(3, || {
        let (queue, _clock) = queue();
        add(&queue, 1, 1);
        add(&queue, 2, 1);
        let other = {
            let queue = queue.clone();
            thread::spawn(move || {
                let batch = block_on(queue.get_batch(2));
                let len = batch.as_ref().map_or(0, machinery_workqueue::Batch::len);
                batch.map(machinery_workqueue::Batch::done);
                len
            })
        };
        let single = queue.try_get().map(Work::done).is_some();
        if single {
            // The other getter finds one key, the one that is left.
            assert_eq!(other.join().expect("it did not panic"), 1);
        } else {
            assert_eq!(other.join().expect("it did not panic"), 2);
        }
        assert!(queue.list().is_empty());
    });
}
