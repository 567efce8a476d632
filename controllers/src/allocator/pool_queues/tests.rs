use std::collections::BTreeSet;

use proptest::prelude::*;

use super::super::runs::Runs;
use super::*;

type Queues = PoolQueues<(), u32>;

fn pool(name: &str) -> PoolId<()> {
    ((), name.parse().unwrap())
}

fn ranges(first: u128, last: u128) -> Arc<Ranges> {
    Arc::new(Ranges::new(vec![(first, last)]).unwrap())
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn wait(queues: &mut Queues, waiter: u32) -> Option<Timestamp> {
    queues.wait(&pool("s"), &ranges(0, 2), &waiter, WaitingSince::New(at(1)))
}

fn claim(queues: &mut Queues, waiter: u32) {
    queues.begin_claim(&pool("s"), &ranges(0, 2), &waiter, WaitingSince::New(at(1)));
}

/// Frees a member of the pool, and returns the notified waiters.
fn freed(queues: &mut Queues) -> Vec<u32> {
    queues.notify(&pool("s"), Instant::now());
    queues.take_notified()
}

fn three() -> Queues {
    let mut queues = PoolQueues::new(3);
    for waiter in [3, 1, 2] {
        assert!(wait(&mut queues, waiter).is_some());
    }
    queues
}

#[tokio::test]
async fn the_longest_waiter_is_notified_first() {
    let mut queues = three();
    assert_eq!([freed(&mut queues), freed(&mut queues)], [[3], [1]]);
    queues.serve(&3);
    assert!(wait(&mut queues, 1).is_some(), "another controller was faster");
    assert_eq!(freed(&mut queues), [1], "it keeps its position");
    assert_eq!([freed(&mut queues), freed(&mut queues)], [vec![2], vec![]]);
}

/// After a restart all waiters arrive at once, in any order.
#[tokio::test]
async fn former_waiters_regain_their_positions() {
    let mut queues = Queues::new(8);
    for (waiter, since) in [(9, None), (7, Some(at(7))), (3, Some(at(3))), (8, None)] {
        let since = since.map_or(WaitingSince::New(at(5)), WaitingSince::Recorded);
        assert!(queues.wait(&pool("s"), &ranges(0, 2), &waiter, since).is_some());
    }
    let order: Vec<u32> = (0..4).flat_map(|_| freed(&mut queues)).collect();
    assert_eq!(order, [3, 9, 7, 8], "by the times that were recorded or handed out");
}

/// A clock that goes back, as that of another machine, and a clock that stands still.
#[tokio::test]
async fn times_of_new_waiters_increase() {
    let mut queues = Queues::new(8);
    let mut wait =
        |waiter, since| queues.wait(&pool("s"), &ranges(0, 2), &waiter, WaitingSince::New(since)).unwrap();
    let times = [wait(1, at(5)), wait(2, at(5)), wait(3, at(1)), wait(4, at(9))];
    assert!(times.is_sorted_by(|one, other| one < other), "{times:?}");
}

#[tokio::test]
async fn members_of_notified_waiters_are_reserved() {
    let mut queues = three();
    let reserved = |queues: &Queues| [9, 1, 3].map(|waiter| queues.reserved(&pool("s"), &waiter));
    assert_eq!(reserved(&queues), [0, 0, 0]);
    assert_eq!(freed(&mut queues), [3]);
    assert_eq!(reserved(&queues), [1, 1, 0]);
    queues.serve(&3);
    assert_eq!(reserved(&queues), [0, 0, 0]);
}

#[tokio::test]
async fn a_leaving_waiter_passes_its_member_on() {
    let mut queues = three();
    queues.leave(&1, Instant::now());
    assert_eq!(queues.take_notified(), [0; 0], "it was not notified");
    assert_eq!(freed(&mut queues), [3]);
    queues.leave(&3, Instant::now());
    assert_eq!(queues.take_notified(), [2]);
    queues.leave(&2, Instant::now());
    assert!(queues.len() == 0 && queues.queues.is_empty());
}

/// A failed claim leaves the waiter ahead of all later ones.
#[tokio::test]
async fn a_failed_claimant_comes_first() {
    let now = Instant::now();
    let mut queues = three();
    assert_eq!(freed(&mut queues), [3]);
    claim(&mut queues, 3);
    assert_eq!(queues.reserved(&pool("s"), &9), 0);
    assert_eq!(freed(&mut queues), [1], "a claimed member is free for nobody");
    queues.claim_missed(&pool("s"), &3, now);
    assert_eq!((queues.take_notified(), queues.reserved(&pool("s"), &9)), (vec![], 2));
    claim(&mut queues, 3);
    assert_eq!(queues.due().collect::<Vec<_>>(), [&1, &3]);
    queues.leave(&3, now);
    assert_eq!(queues.take_notified(), [2], "a claimant that leaves passes the member on");
    queues.claim_missed(&pool("s"), &3, now);
    assert_eq!(queues.take_notified(), [0; 0], "all were notified");
    assert!(wait(&mut queues, 2).is_some());
    queues.claim_missed(&pool("s"), &3, now);
    assert_eq!(queues.take_notified(), [2], "the claimant has left");
}

#[tokio::test]
async fn the_limit_of_waiters_is_enforced() {
    let mut queues = three();
    assert!(wait(&mut queues, 4).is_none() && wait(&mut queues, 2).is_some());
    assert_eq!(queues.len(), 3);
}

#[tokio::test]
async fn an_unused_reservation_passes_to_the_next_waiter() {
    let (mut queues, now) = (three(), Instant::now());
    assert_eq!(freed(&mut queues), [3]);
    queues.expire(now, now);
    assert_eq!(queues.take_notified(), [0; 0], "notified after that instant");
    let later = now + std::time::Duration::from_secs(9);
    queues.expire(later, later);
    assert_eq!(queues.take_notified(), [1]);
    assert_eq!(queues.reserved(&pool("s"), &9), 1);
    assert_eq!([freed(&mut queues), freed(&mut queues)], [[2], [3]], "the overdue one comes last");
    claim(&mut queues, 3);
    queues.claim_missed(&pool("s"), &3, now);
    assert_eq!(queues.reserved(&pool("s"), &3), 0, "it has run, and keeps its place");
}

/// Both pools contain the member: a waiter of each is notified, as only one of them may run.
#[tokio::test]
async fn a_member_of_two_pools_notifies_a_waiter_of_each() {
    let mut queues = Queues::new(8);
    for (name, waiter, last) in [("a", 1, 5), ("b", 2, 7), ("c", 3, 3)] {
        assert!(queues.wait(&pool(name), &ranges(0, last), &waiter, WaitingSince::New(at(1))).is_some());
    }
    queues.freed(&(), 4, None, Instant::now());
    assert_eq!(queues.take_notified(), [1, 2]);
    queues.freed(&(), 1, Some(&pool("a")), Instant::now());
    assert_eq!(queues.take_notified(), [3], "all of b were notified, and a is served otherwise");
}

#[tokio::test]
async fn surplus_members_notify_sleepers() {
    let mut queues = three();
    let count_free = |free: u128| {
        move |(): &(), ranges: &Ranges, at_most: usize| {
            let mut taken = Runs::default();
            for number in free..3 {
                taken.insert(number);
            }
            ranges.count_free(&taken, at_most)
        }
    };
    queues.notify_surplus(count_free(0), Instant::now());
    assert_eq!(queues.take_notified(), [0; 0]);
    for _ in 0..2 {
        queues.notify_surplus(count_free(2), Instant::now());
    }
    assert_eq!(queues.take_notified(), [3, 1], "one for each free member");
}

#[derive(Clone, Copy, Debug)]
enum QueueOp {
    Want(u32),
    GiveBack,
    Run(prop::sample::Index),
    /// The claimed member is locked by a stranger and released at once.
    Miss(prop::sample::Index),
    Vanish(u32),
    Expire,
}

fn op() -> impl Strategy<Value = QueueOp> {
    prop_oneof![
        4 => (0..12_u32).prop_map(QueueOp::Want),
        2 => Just(QueueOp::GiveBack),
        4 => any::<prop::sample::Index>().prop_map(QueueOp::Run),
        2 => any::<prop::sample::Index>().prop_map(QueueOp::Miss),
        2 => (0..12_u32).prop_map(QueueOp::Vanish),
        1 => Just(QueueOp::Expire),
    ]
}

proptest! {
    /// Three members; each claimant runs, and waits if none is free.
    #[test]
    fn free_members_never_exceed_notified_waiters(ops in proptest::collection::vec(op(), 0..200)) {
        let now = Instant::now();
        let mut queues = Queues::new(64);
        let (mut free, mut have, mut due) = (3_usize, BTreeSet::new(), BTreeSet::new());
        for op in ops {
            match op {
                QueueOp::Want(waiter) if !have.contains(&waiter) => drop(due.insert(waiter)),
                QueueOp::GiveBack if !have.is_empty() => {
                    have.pop_first();
                    free += 1;
                    due.extend(freed(&mut queues));
                }
                QueueOp::Run(which) | QueueOp::Miss(which) if !due.is_empty() => {
                    let waiter = *due.iter().nth(which.index(due.len())).unwrap();
                    let is_free = free > queues.reserved(&pool("s"), &waiter);
                    match op {
                        QueueOp::Miss(_) if is_free => {
                            claim(&mut queues, waiter);
                            queues.claim_missed(&pool("s"), &waiter, now);
                        }
                        QueueOp::Run(_) if is_free => {
                            claim(&mut queues, waiter);
                            queues.serve(&waiter);
                            (free, _) = (free - 1, have.insert(waiter));
                            due.remove(&waiter);
                        }
                        QueueOp::Run(_) => {
                            prop_assert!(wait(&mut queues, waiter).is_some());
                            due.remove(&waiter);
                        }
                        _ => {}
                    }
                }
                QueueOp::Vanish(waiter) if !have.contains(&waiter) => {
                    due.remove(&waiter);
                    queues.leave(&waiter, now);
                }
                QueueOp::Expire => queues.expire(now + std::time::Duration::from_secs(1), now),
                _ => {}
            }
            due.extend(queues.take_notified());
            let asleep = queues.positions.keys().filter(|waiter| !due.contains(*waiter)).count();
            prop_assert!(asleep == 0 || free <= due.len(), "{free} are free, {asleep} sleep, only {due:?} run");
        }
    }
}
