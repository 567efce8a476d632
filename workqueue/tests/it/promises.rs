//! The twelve promises of the crate, in order. Those about interleavings are in `loom.rs` as well.

use super::{default, done, ms, now, queue, ready};
use machinery_sync::Mutex;
use machinery_workqueue::limiter::Exponential;
use machinery_workqueue::{
    Add, Added, Cause, Config, Debounce, KeyState, Priority, Queue, Retried, Work, tenant_of,
};
use std::collections::BTreeSet;
use std::num::NonZeroU16;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

#[test]
fn p01_stingy_a_key_added_often_is_handed_out_once() {
    let (queue, _clock) = default();
    assert_eq!(queue.add(1), Ok(Added::Queued));
    for _ in 0..100 {
        assert_eq!(queue.add(1), Ok(Added::Merged));
    }
    assert_eq!(ready(&queue), [1]);
}

#[test]
fn p02_exclusive_at_most_one_work_per_key() {
    let (queue, _clock) = default();
    queue.add(1).unwrap();
    let work = queue.try_get().unwrap();
    queue.add(1).unwrap();
    assert!(queue.try_get().is_none());
    work.done();
    assert_eq!(ready(&queue), [1]);
}

/// Eight producers and eight workers on two threads; loom runs fewer, but every interleaving.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p02_exclusive_under_load() {
    let queue = Queue::<u32>::new(Config::default()).unwrap();
    let out = Arc::new([const { AtomicU32::new(0) }; 16]);
    let workers: Vec<_> = (0..8)
        .map(|_| {
            let (queue, out) = (queue.clone(), out.clone());
            tokio::task::JoinSet::from_iter([async move {
                while let Some(work) = queue.get().await {
                    let place = &out[*work.key() as usize];
                    assert_eq!(place.fetch_add(1, Ordering::SeqCst), 0, "out twice");
                    tokio::task::yield_now().await;
                    place.fetch_sub(1, Ordering::SeqCst);
                    work.done();
                }
            }])
        })
        .collect();
    let producers = tokio::task::JoinSet::from_iter((0..8_u32).map(|seed| {
        let queue = queue.clone();
        async move {
            for i in 0..5_000 {
                queue.add((i * 7 + seed) % 16).unwrap();
                if i % 16 == 0 {
                    tokio::task::yield_now().await;
                }
            }
        }
    }));
    producers.join_all().await;
    assert!(queue.drain(Duration::from_secs(60)).await.leftovers.is_empty());
    for worker in workers {
        worker.join_all().await;
    }
}

#[test]
fn p03_nothing_lost_a_key_added_while_in_flight_runs_again() {
    let (queue, clock) = default();
    queue.add(1).unwrap();
    let work = queue.try_get().unwrap();
    assert_eq!(queue.add(1), Ok(Added::Rerun));
    assert_eq!(queue.add_after(1, ms(50)), Ok(Added::Rerun), "merged into the one that is wanted at once");
    work.done();
    let work = queue.try_get().unwrap();
    queue.add_after(1, ms(50)).unwrap();
    work.done();
    assert_eq!(ready(&queue), [0_u32; 0]);
    clock.advance(ms(50));
    assert_eq!(ready(&queue), [1]);
}

#[test]
fn p04_one_entry_the_earliest_time_wins() {
    let (queue, clock) = default();
    queue.add_after(1, ms(50)).unwrap();
    queue.add_after(1, ms(10)).unwrap();
    queue.add_after(1, ms(90)).unwrap();
    clock.advance(ms(9));
    assert_eq!(ready(&queue), [0_u32; 0]);
    clock.advance(ms(1));
    assert_eq!(ready(&queue), [1]);
    clock.advance(ms(1000));
    assert_eq!(ready(&queue), [0_u32; 0]);
}

#[test]
fn p04_one_entry_an_immediate_add_beats_a_delay_and_cancel_works_on_both() {
    let (queue, clock) = default();
    queue.add_after(1, ms(50)).unwrap();
    assert_eq!(queue.add(1), Ok(Added::Merged));
    assert_eq!(ready(&queue), [1]);

    queue.add_after(2, ms(50)).unwrap();
    queue.add(3).unwrap();
    assert!(queue.cancel(&2) && queue.cancel(&3));
    assert!(!queue.cancel(&2) && !queue.cancel(&4), "there is nothing to take back");
    clock.advance(ms(1000));
    assert_eq!(ready(&queue), [0_u32; 0]);
}

#[test]
fn p04_forget_works_on_both_and_takes_nothing_back() {
    let (queue, clock) = queue(Config { backoff: exact(ms(8)), ..Config::default() });
    let fail = || queue.try_get().unwrap().retry("no");
    queue.add(1).unwrap();
    assert_eq!(fail(), Retried::After(ms(8)));
    clock.advance(ms(8));
    assert_eq!(fail(), Retried::After(ms(16)));
    assert_eq!(queue.forget(&1), 2, "while delayed");
    clock.advance(ms(16));
    assert_eq!(fail(), Retried::After(ms(8)), "it starts again");
    clock.advance(ms(8));
    assert_eq!(queue.forget(&1), 1, "while ready");
    assert_eq!(fail(), Retried::After(ms(8)));
}

#[test]
fn p05_fair_first_come_first_served_within_a_priority() {
    let (queue, _clock) = default();
    for key in [5, 3, 9, 1] {
        queue.add(key).unwrap();
    }
    queue.add(3).unwrap();
    let high = Add::new().priority(Priority::HIGH);
    queue.add_with(7, high).unwrap();
    queue.add_with(9, high).unwrap();
    assert_eq!(ready(&queue), [7, 9, 5, 3, 1], "a raised key goes to the end of its new line");
}

#[test]
fn p05_fair_priorities_age_so_nothing_starves() {
    let (queue, clock) = queue(Config { aging: ms(100), ..Config::default() });
    queue.add_with(1, Add::new().priority(Priority::new(-3))).unwrap();
    let mut before = 0;
    for key in 2..1000 {
        queue.add(key).unwrap();
        clock.advance(ms(10));
        if done(queue.try_get().unwrap()) == 1 {
            break;
        }
        before += 1;
    }
    assert_eq!(before, 31, "three levels are worth 300 ms; at a tie the higher priority goes first");
}

#[test]
fn p05_fair_tenants_take_turns() {
    let tenants = |key: &u32| key / 1000;
    let (queue, _clock) = queue(Config { tenants: Some(Box::new(tenants)), ..Config::default() });
    queue.add_all((1000..1050).chain([2000, 2001]).chain([3000]), Add::new()).unwrap();
    assert_eq!(ready(&queue)[..6], [1000, 2000, 3000, 1001, 2001, 1002]);
    assert_ne!(tenant_of("a"), tenant_of("b"));
}

#[test]
fn p06_a_guard_dropped_unanswered_is_retried_with_back_off_and_counted() {
    let (queue, clock) = queue(Config { backoff: exact(ms(8)), ..Config::default() });
    queue.add(1).unwrap();
    drop(queue.try_get().unwrap());
    assert_eq!(ready(&queue), [0_u32; 0]);
    clock.advance(ms(8));
    let work = queue.try_get().unwrap();
    assert_eq!((work.attempts(), queue.stats().abandoned, queue.stats().retries), (1, 1, 1));
    work.done();
    assert!(queue.list().is_empty(), "only done ends it");
}

/// Half of the longest possible delay is certain, so tests that depend on a delay disable jitter.
fn exact(base: Duration) -> Box<Exponential> {
    Box::new(Exponential::new(base, Duration::from_secs(1000)).unwrap().jitter(0.0).unwrap())
}

#[test]
fn p07_back_off_is_per_key_exponential_and_capped() {
    let limiter = Exponential::new(ms(8), ms(30)).unwrap().jitter(0.0).unwrap();
    let (queue, clock) = queue(Config { backoff: Box::new(limiter), ..Config::default() });
    queue.add(1).unwrap();
    let waits: Vec<Retried> = (0..4)
        .map(|_| {
            let retried = queue.try_get().unwrap().retry("no");
            clock.advance(ms(30));
            retried
        })
        .collect();
    assert_eq!(waits, [8, 16, 30, 30].map(|wait| Retried::After(ms(wait))));
    queue.add(2).unwrap();
    queue.try_get().unwrap().done();
    assert_eq!(
        queue.try_get().unwrap().retry("no"),
        Retried::After(ms(8)),
        "another key starts at its own first"
    );
}

#[test]
fn p07_jitter_spreads_keys_that_failed_together() {
    let (queue, _clock) = default();
    queue.add_all(0..100, Add::new()).unwrap();
    for _ in 0..8 {
        for _ in 0..100 {
            if let Some(work) = queue.try_get() {
                work.retry("no");
            }
        }
        queue.add_all(0..100, Add::new()).unwrap();
    }
    while let Some(work) = queue.try_get() {
        work.retry("no");
    }
    let waits: BTreeSet<String> = queue.list().into_iter().map(|seen| format!("{:?}", seen.state)).collect();
    assert!(
        waits.len() > 80,
        "a hundred keys failed nine times each, and wait {} different times",
        waits.len()
    );
}

#[test]
fn p07_max_tries_then_a_dead_letter() {
    let letters = Arc::new(Mutex::new(Vec::new()));
    let hook = {
        let letters = letters.clone();
        Box::new(move |letter| letters.lock().push(letter))
    };
    let config = Config { max_tries: NonZeroU16::new(3), dead_letter: Some(hook), ..Config::default() };
    let (queue, clock) = queue(config);
    queue.add(1).unwrap();
    for _ in 0..2 {
        assert!(matches!(queue.try_get().unwrap().retry("disk full"), Retried::After(_)));
        clock.advance(ms(100));
    }
    assert_eq!(queue.try_get().unwrap().retry("disk full"), Retried::DeadLetter);
    assert!(queue.list().is_empty());
    let letters = letters.lock();
    assert_eq!(letters.len(), 1);
    assert_eq!((letters[0].key, letters[0].attempts, letters[0].error.as_str()), (1, 3, "disk full"));
    assert_eq!(queue.stats().dead_letters, 1);
}

#[test]
fn p07_a_dead_letter_added_during_its_run_starts_with_no_failures() {
    let (queue, _clock) = queue(Config { max_tries: NonZeroU16::new(1), ..Config::default() });
    queue.add(1).unwrap();
    let work = queue.try_get().unwrap();
    queue.add(1).unwrap();
    assert_eq!(work.retry("no"), Retried::DeadLetter);
    assert_eq!(queue.try_get().unwrap().attempts(), 0);
}

/// Deadline and leftovers of promise 8 are in `end.rs`.
#[test]
fn p08_drain_means_drained() {
    let (queue, _clock) = default();
    queue.add(1).unwrap();
    queue.add(2).unwrap();
    let work = queue.try_get().unwrap();
    assert!(now(queue.drain(ms(1000))).is_none());
    assert!(queue.add(3).is_err());
    work.done();
    assert!(now(queue.drain(ms(1000))).is_none(), "one is out no more, one is queued still");
    assert_eq!(done(queue.try_get().unwrap()), 2);
    assert_eq!(now(queue.drain(ms(1000))).unwrap().leftovers, []);
}

#[test]
fn p09_why_causes_survive_merging_and_failure() {
    let (queue, clock) = default();
    let because = |what, detail| queue.add_with(1, Add::new().cause(Cause::new(what, detail))).unwrap();
    because(&"link down", 7);
    because(&"subnet changed", 40);
    because(&"subnet changed", 41);
    let why = |work: &Work<u32>| -> Vec<(&str, u64, u8)> {
        work.causes().iter().map(|(cause, count)| (cause.name(), cause.detail(), count)).collect()
    };
    let work = queue.try_get().unwrap();
    assert_eq!(why(&work), [("link down", 7, 1), ("subnet changed", 41, 2)]);
    because(&"resync", 0);
    work.retry("no");
    clock.advance(ms(10));
    let work = queue.try_get().unwrap();
    assert_eq!(
        why(&work),
        [("link down", 7, 1), ("subnet changed", 41, 2), ("retry", 1, 1), ("resync", 0, 1)]
    );
    work.after(ms(5));
    clock.advance(ms(5));
    assert_eq!(
        why(&queue.try_get().unwrap()),
        [("after", 0, 1)],
        "that one was done: its causes are history"
    );
}

#[test]
fn p10_debounce_waits_for_quiet_but_not_for_ever() {
    let debounce = Debounce::new(ms(10), ms(35)).unwrap();
    let (queue, clock) = queue(Config { debounce: Some(debounce), ..Config::default() });
    let mut waited = 0;
    while queue.is_empty() && waited < 1000 {
        queue.add(1).unwrap();
        clock.advance(ms(5));
        waited += 5;
    }
    assert_eq!((waited, ready(&queue)), (35, vec![1]), "adds every 5 ms put it off, for 35 ms");
    queue.add(1).unwrap();
    clock.advance(ms(10));
    assert_eq!(ready(&queue), [1], "10 ms of quiet are enough");
    queue.add_with(1, Add::new().now()).unwrap();
    assert_eq!(ready(&queue), [1], "an immediate add is ready at once");
}

#[test]
fn p11_batches_are_exclusive_ordered_and_bounded() {
    let (queue, clock) = default();
    queue.add_all(1..=5, Add::new()).unwrap();
    let batch = now(queue.get_batch(3)).unwrap().unwrap();
    assert_eq!(batch.keys().copied().collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(queue.add_all(1..=5, Add::new()), Ok(5));
    assert_eq!(ready(&queue), [4, 5], "the keys of the batch are in flight");
    batch.done();
    assert_eq!(ready(&queue), [1, 2, 3]);

    queue.add_all(1..=3, Add::new()).unwrap();
    let mut works = now(queue.get_batch(9)).unwrap().unwrap().into_iter();
    works.next().unwrap().done();
    works.next().unwrap().after(ms(1));
    drop(works);
    clock.advance(ms(10));
    assert_eq!(ready(&queue), [2, 3], "the third was abandoned, and is retried");
    assert_eq!(queue.stats().abandoned, 1);
}

#[test]
fn p12_seen_every_key_can_be_listed() {
    let (queue, clock) = default();
    queue.add_with(1, Add::new().priority(Priority::HIGH).cause(Cause::new(&"why", 3))).unwrap();
    queue.add_after(2, ms(50)).unwrap();
    queue.add(3).unwrap();
    let (first, second) = (queue.try_get().unwrap(), queue.try_get().unwrap());
    assert_eq!((*first.key(), *second.key()), (1, 3));
    queue.add_after(1, ms(70)).unwrap();
    second.retry("no");
    clock.advance(ms(20));

    let seen = |key| queue.status(&key).unwrap();
    assert_eq!(seen(1).state, KeyState::InFlight { rerun: Some(ms(50)) });
    assert_eq!(seen(1).age, ms(20));
    assert_eq!(seen(2).state, KeyState::Delayed { next: ms(30) });
    assert_eq!((seen(3).state, seen(3).attempts), (KeyState::Ready, 1));
    assert_eq!(seen(3).causes.iter().next().unwrap().0, Cause::new(&"retry", 1));
    assert!(queue.status(&4).is_none());
    let mut keys: Vec<u32> = queue.list().into_iter().map(|seen| seen.key).collect();
    keys.sort_unstable();
    assert_eq!(keys, [1, 2, 3]);
    let stats = queue.stats();
    assert_eq!((stats.ready, stats.delayed, stats.in_flight), (1, 1, 1));
    assert_eq!((stats.longest_us, stats.unfinished_us), (20_000, 20_000));
    first.done();
}

#[test]
fn p12_a_list_of_many_thousands_has_each_once() {
    let (queue, _clock) = default();
    queue.add_all(0..10_000, Add::new()).unwrap();
    let keys: BTreeSet<u32> = queue.list().into_iter().map(|seen| seen.key).collect();
    assert_eq!((keys.len(), queue.list().len()), (10_000, 10_000));
}
