//! Random histories of the ledger, beside a system that changes as its attempts say, or otherwise.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::compare::Comparison;
use super::ledger::{KeyClaim, Ledger};
use super::{FoundItem, ItemChange, ItemFailure};

type TestItem = u8;
type Listed = Vec<FoundItem<u8, TestItem, u8>>;

#[derive(Clone, Debug)]
enum Step {
    Claim(u8, TestItem),
    Release(u8, TestItem),
    Disown(u8),
    Begin(u8),
    /// Ends the attempt of a key: whether the system was changed, and its result.
    End(u8, bool, End),
    /// Another party changes the system.
    Disturb(u8, Option<TestItem>),
    /// Lists the system; a later comparison uses the list.
    List,
    Compare,
}

#[derive(Clone, Copy, Debug)]
enum End {
    Done,
    Failed,
    Interrupted,
}

fn step() -> impl Strategy<Value = Step> {
    let (key, item) = (0..4_u8, 0..3_u8);
    let end = prop_oneof![4 => Just(End::Done), 1 => Just(End::Failed), 1 => Just(End::Interrupted)];
    prop_oneof![
        3 => (key.clone(), item.clone()).prop_map(|(key, item)| Step::Claim(key, item)),
        3 => (key.clone(), item.clone()).prop_map(|(key, item)| Step::Release(key, item)),
        1 => key.clone().prop_map(Step::Disown),
        4 => key.clone().prop_map(Step::Begin),
        4 => (key.clone(), any::<bool>(), end).prop_map(|(key, made, end)| Step::End(key, made, end)),
        1 => (key, proptest::option::of(item)).prop_map(|(key, item)| Step::Disturb(key, item)),
        1 => Just(Step::List),
        1 => Just(Step::Compare),
    ]
}

/// The ledger, the system, and what callers know.
struct Model {
    ledger: Ledger<u8, TestItem, u8>,
    system: BTreeMap<u8, TestItem>,
    claimed: BTreeMap<u8, TestItem>,
    in_flight: BTreeMap<u8, ItemChange<u8, TestItem>>,
    list: Option<(Listed, u64)>,
}

impl Model {
    fn new(existing: BTreeMap<u8, TestItem>) -> Self {
        let mut ledger = Ledger::new(64);
        let listed = existing.iter().map(|(key, item)| FoundItem::whole(*key, *item)).collect();
        assert!(ledger.load(listed).is_empty(), "existing items need no change");
        let (claimed, in_flight) = (BTreeMap::new(), BTreeMap::new());
        Self { ledger, system: existing, claimed, in_flight, list: None }
    }

    fn listed(&self) -> Listed {
        self.system.iter().map(|(key, item)| FoundItem::whole(*key, *item)).collect()
    }

    fn apply(&mut self, change: &ItemChange<u8, TestItem>) {
        match change.to {
            Some(item) => drop(self.system.insert(change.key, item)),
            None => drop(self.system.remove(&change.key)),
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Claim(key, item) => match self.ledger.claim(&key, &item) {
                KeyClaim::Taken(by) => assert_eq!(self.claimed.get(&key), Some(&by)),
                KeyClaim::Full => panic!("the limit is not reached"),
                _ => {
                    let before = self.claimed.insert(key, item);
                    assert!(before.is_none_or(|before| before == item), "one item of a key");
                }
            },
            Step::Release(key, item) => {
                self.ledger.release(&key, &item);
                if self.claimed.get(&key) == Some(&item) {
                    self.claimed.remove(&key);
                }
            }
            Step::Disown(key) => drop(self.ledger.disown(vec![key])),
            Step::Begin(key) if !self.in_flight.contains_key(&key) => {
                if let Some(change) = self.ledger.begin(&key) {
                    self.in_flight.insert(key, change);
                }
            }
            Step::Begin(_) => {}
            Step::End(key, made, end) => {
                let Some(change) = self.in_flight.remove(&key) else { return };
                if made || matches!(end, End::Done) {
                    self.apply(&change);
                }
                match end {
                    End::Done => drop(self.ledger.finish(change, Ok(()))),
                    End::Failed => drop(self.ledger.finish(change, Err(ItemFailure::Failed(0)))),
                    End::Interrupted => self.ledger.interrupt(change, true),
                }
            }
            Step::Disturb(key, Some(item)) => drop(self.system.insert(key, item)),
            Step::Disturb(key, None) => drop(self.system.remove(&key)),
            Step::List => self.list = Some((self.listed(), self.ledger.now())),
            Step::Compare => {
                if let Some((listed, since)) = self.list.take() {
                    self.ledger.compare(listed, since);
                }
            }
        }
        let unclaimed = self.ledger.unclaimed();
        assert_eq!(self.ledger.unclaimed_count(), unclaimed.len());
        for (key, _) in unclaimed {
            assert!(!self.claimed.contains_key(&key), "{key} is claimed");
        }
    }

    /// Makes all due changes, until none is due.
    fn settle(&mut self) {
        for key in 0..4 {
            self.step(Step::End(key, true, End::Done));
        }
        for _ in 0..8 {
            let (listed, since) = (self.listed(), self.ledger.now());
            self.ledger.compare(listed, since);
            for key in self.ledger.due_keys() {
                self.step(Step::Begin(key));
                self.step(Step::End(key, true, End::Done));
            }
        }
    }
}

/// The port answers a list late: an item was created meanwhile.
#[test]
fn p45_a_list_from_before_a_change_is_no_drift() {
    let mut ledger = Ledger::<u8, TestItem, u8>::new(8);
    ledger.load(vec![]);
    let since = ledger.now();
    assert_eq!(ledger.claim(&1, &7), KeyClaim::Create);
    let change = ledger.begin(&1).expect("due");
    ledger.finish(change, Ok(()));
    assert_eq!(ledger.compare(vec![], since).due, []);
    assert_eq!(ledger.lookup(&1, &7), (true, true));
    let since = ledger.now();
    assert_eq!(ledger.compare(vec![], since).due, [(1, 1)], "a later list counts");
}

#[test]
fn p47_a_key_that_a_later_list_has_twice_is_broken() {
    let mut ledger = Ledger::<u8, TestItem, u8>::new(8);
    ledger.load(vec![FoundItem::whole(1, 7)]);
    ledger.claim(&1, &7);
    let since = ledger.now();
    ledger.compare(vec![FoundItem::whole(1, 7), FoundItem::whole(1, 8)], since);
    assert_eq!(ledger.broken().get(&1).map(|one| one.failure.clone()), Some(ItemFailure::Ambiguous));
    assert_eq!(ledger.due_keys(), [1], "it is repaired");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn p49_every_history_ends_with_the_claimed_and_the_unclaimed_items(
        existing in proptest::collection::btree_map(0..4_u8, 0..3_u8, 0..4),
        steps in proptest::collection::vec(step(), 0..60),
    ) {
        let mut model = Model::new(existing);
        for step in steps {
            model.step(step);
        }
        model.settle();
        let mut expected = model.claimed.clone();
        expected.extend(model.ledger.unclaimed());
        prop_assert_eq!(&model.system, &expected);
        prop_assert!(model.ledger.due_keys().is_empty() && model.ledger.broken().is_empty());
    }

    /// Lists with a key twice, errors and unknown keys, and repairs that name unknown keys.
    #[test]
    fn p47_arbitrary_lists_and_repairs_do_not_panic(
        lists in proptest::collection::vec(
            proptest::collection::vec((0..4_u8, 0..3_u8, proptest::option::of(0..2_u8)), 0..8), 1..6),
        broken in proptest::collection::btree_map(0..6_u8, 0..2_u8, 0..4),
        since in 0..40_u64,
    ) {
        let mut ledger = Ledger::new(8);
        let found = |list: Vec<(u8, u8, Option<u8>)>| -> Listed {
            list.into_iter().map(|(key, item, error)| FoundItem { key, item, error }).collect()
        };
        for (index, list) in lists.into_iter().enumerate() {
            if index == 0 {
                ledger.load(found(list));
            } else {
                ledger.claim(&1, &1);
                let Comparison { due, .. } = ledger.compare(found(list), since);
                for (key, _) in due {
                    prop_assert!(ledger.begin(&key).is_some(), "a key is due");
                    let change = ItemChange { key, from: None, to: None };
                    ledger.interrupt(change, false);
                }
            }
            ledger.repaired(broken.clone(), since);
        }
    }
}
