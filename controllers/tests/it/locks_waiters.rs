//! Promise 26: order of waiters.

use machinery_controllers::Waiters;
use machinery_objects::ObjectKey;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn name(text: &str) -> ObjectKey {
    text.parse().unwrap()
}

#[test]
fn p26_waiters_are_notified_in_order_and_keep_their_position() {
    let (waiters, a) = (Waiters::new(9), name("a"));
    for who in [3, 1, 2] {
        assert!(waiters.enqueue(&a, &who));
    }
    assert_eq!(waiters.notify(&a), [3, 1, 2]);
    assert_eq!(waiters.notify(&a), [0; 0], "nobody came again");
    assert!(waiters.is_empty());

    for who in [3, 1, 2] {
        waiters.enqueue(&a, &who);
    }
    assert_eq!(waiters.notify(&a), [3, 1, 2]);
    waiters.remove(&a, &3); // it holds the name
    for who in [7, 2, 1] {
        waiters.enqueue(&a, &who);
    }
    assert_eq!(waiters.notify(&a), [1, 2, 7], "who came again is before who came new");
    waiters.enqueue(&a, &2);
    assert_eq!(waiters.notify(&a), [2], "who did not come again has lost the place");
}

#[test]
fn p26_the_number_of_waiters_is_bounded_and_notified_ones_are_evicted() {
    let (waiters, a, b) = (Waiters::new(2), name("a"), name("b"));
    assert!(waiters.enqueue(&a, &1) && waiters.enqueue(&b, &1) && waiters.enqueue(&a, &1));
    assert!(!waiters.enqueue(&a, &2), "it is full");
    assert_eq!(waiters.len(), 2);
    assert_eq!(waiters.notify(&a), [1]);
    assert!(waiters.enqueue(&a, &2), "in the position of a notified one");
    assert_eq!((waiters.notify(&b), waiters.notify(&a)), (vec![1], vec![2]));
}

#[test]
fn p26_a_removed_waiter_is_not_notified() {
    let (waiters, a, b) = (Waiters::new(9), name("a"), name("b"));
    for (at, who) in [(&a, 1), (&b, 1), (&b, 2)] {
        waiters.enqueue(at, &who);
    }
    waiters.retain(|who| *who != 1);
    assert_eq!((waiters.notify(&a), waiters.notify(&b)), (vec![], vec![2]));
}

#[derive(Clone, Debug)]
enum WaiterStep {
    Wait(u8, u8),
    Freed(u8),
    Leave(u8, u8),
    Forget(u8),
}

fn step() -> impl Strategy<Value = WaiterStep> {
    prop_oneof![
        4 => (0..3_u8, 0..6_u8).prop_map(|(name, who)| WaiterStep::Wait(name, who)),
        2 => (0..3_u8).prop_map(WaiterStep::Freed),
        1 => (0..3_u8, 0..6_u8).prop_map(|(name, who)| WaiterStep::Leave(name, who)),
        1 => (0..6_u8).prop_map(WaiterStep::Forget),
    ]
}

/// Reference model: a list per name, of waiter and whether it is waiting.
#[derive(Default)]
struct ReferenceQueues(BTreeMap<u8, Vec<(u8, bool)>>);

const LIMIT: usize = 6;

impl ReferenceQueues {
    fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    fn wait(&mut self, name: u8, who: u8) -> bool {
        if let Some((_, waits)) = self.0.entry(name).or_default().iter_mut().find(|(other, _)| *other == who)
        {
            *waits = true;
            return true;
        }
        if self.len() == LIMIT {
            self.0.values_mut().for_each(|line| line.retain(|(_, waits)| *waits));
        }
        let fits = self.len() < LIMIT;
        if fits {
            self.0.entry(name).or_default().push((who, true));
        }
        fits
    }

    fn notify(&mut self, name: u8) -> Vec<u8> {
        let line = self.0.entry(name).or_default();
        line.retain(|(_, waits)| *waits);
        line.iter_mut().for_each(|(_, waits)| *waits = false);
        line.iter().map(|(who, _)| *who).collect()
    }

    fn leave(&mut self, name: u8, who: u8) {
        self.0.entry(name).or_default().retain(|(other, _)| *other != who);
    }
}

proptest! {
    #[test]
    fn p26_wait_queues_match_the_reference_model(steps in prop::collection::vec(step(), 1..60)) {
        let (waiters, mut naive) = (Waiters::new(LIMIT), ReferenceQueues::default());
        let names = ["a", "b", "c"].map(name);
        for step in steps {
            match step {
                WaiterStep::Wait(at, who) => {
                    prop_assert_eq!(waiters.enqueue(&names[usize::from(at)], &who), naive.wait(at, who));
                }
                WaiterStep::Freed(at) => prop_assert_eq!(waiters.notify(&names[usize::from(at)]), naive.notify(at)),
                WaiterStep::Leave(at, who) => {
                    waiters.remove(&names[usize::from(at)], &who);
                    naive.leave(at, who);
                }
                WaiterStep::Forget(who) => {
                    waiters.remove_all(&who);
                    (0..3).for_each(|at| naive.leave(at, who));
                }
            }
            prop_assert_eq!(waiters.len(), naive.len());
            let waited: Vec<_> = waiters.awaited_names().into_iter().map(|(name, _)| name).collect();
            let expected = naive.0.iter().filter(|(_, line)| line.iter().any(|(_, waits)| *waits));
            let expected: Vec<_> = expected.map(|(at, _)| names[usize::from(*at)].clone()).collect();
            prop_assert_eq!(waited, expected);
        }
    }
}
