//! The tree compared with the standard library's.

use machinery_snapshot::Tree;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Bound;

#[derive(Clone, Debug)]
enum TreeOp {
    Insert(u16, u32),
    Remove(u16),
    Change(u16, u32),
    /// Removes a run of keys, which empties nodes.
    RemoveRange(u16, u16),
    /// Inserts a run of keys, in order.
    InsertRange(u16, u16),
    Hold,
}

type TreeModel = BTreeMap<u16, u32>;

fn check(tree: &Tree<u16, u32>, model: &TreeModel) {
    assert_eq!((tree.len(), tree.is_empty()), (model.len(), model.is_empty()));
    assert!(tree.iter().eq(model), "forwards");
    assert!(tree.iter().rev().eq(model.iter().rev()), "backwards");
    assert_eq!((tree.first(), tree.last()), (model.iter().next(), model.iter().next_back()));
}

fn check_range(tree: &Tree<u16, u32>, model: &TreeModel, start: Bound<u16>, end: Bound<u16>) {
    let expected: Vec<_> = model.iter().filter(|&(key, _)| (start, end).contains(key)).collect();
    let range = tree.range((start, end));
    assert!(range.clone().eq(expected.iter().copied()), "{start:?} {end:?}");
    assert!(range.clone().rev().eq(expected.iter().rev().copied()), "{start:?} {end:?}, backwards");
    // From both ends, until they meet.
    let (mut range, mut expected) = (range, expected.into_iter());
    for front in [true, false, false, true].iter().cycle() {
        let (found, wanted) =
            if *front { (range.next(), expected.next()) } else { (range.next_back(), expected.next_back()) };
        assert_eq!(found, wanted);
        if found.is_none() {
            assert_eq!((range.next(), range.next_back()), (None, None));
            return;
        }
    }
}

use std::ops::RangeBounds;

fn bounds() -> impl Strategy<Value = Bound<u16>> {
    prop_oneof![
        Just(Bound::Unbounded),
        (0..KEYS).prop_map(Bound::Included),
        (0..KEYS).prop_map(Bound::Excluded),
    ]
}

/// Enough for three levels.
const KEYS: u16 = 5000;

fn ops() -> impl Strategy<Value = Vec<TreeOp>> {
    let key = || 0..KEYS;
    let op = prop_oneof![
        20 => (key(), any::<u32>()).prop_map(|(key, value)| TreeOp::Insert(key, value)),
        20 => key().prop_map(TreeOp::Remove),
        10 => (key(), any::<u32>()).prop_map(|(key, value)| TreeOp::Change(key, value)),
        5 => (key(), 0..2000_u16).prop_map(|(key, more)| TreeOp::RemoveRange(key, more)),
        5 => (key(), 0..2000_u16).prop_map(|(key, more)| TreeOp::InsertRange(key, more)),
        2 => Just(TreeOp::Hold),
    ];
    prop::collection::vec(op, 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_tree_is_a_sorted_map(
        ops in ops(),
        ranges in prop::collection::vec((bounds(), bounds()), 0..20),
    ) {
        let (mut tree, mut model, mut held) = (Tree::new(), TreeModel::new(), Vec::new());
        for op in ops {
            match op {
                TreeOp::Insert(key, value) => prop_assert_eq!(tree.insert(key, value), model.insert(key, value)),
                TreeOp::Remove(key) => prop_assert_eq!(tree.remove(&key), model.remove_entry(&key)),
                TreeOp::Change(key, new) => {
                    let change = |value: &mut u32| std::mem::replace(value, new);
                    prop_assert_eq!(tree.get_mut(&key).map(change), model.get_mut(&key).map(change));
                }
                TreeOp::RemoveRange(from, more) => for key in from..from.saturating_add(more) {
                    prop_assert_eq!(tree.remove(&key), model.remove_entry(&key));
                },
                TreeOp::InsertRange(from, more) => for key in from..KEYS.min(from.saturating_add(more)) {
                    prop_assert_eq!(tree.insert(key, 1), model.insert(key, 1));
                },
                TreeOp::Hold => held.push((tree.clone(), model.clone())),
            }
            prop_assert_eq!(tree.len(), model.len());
        }
        held.push((tree, model));
        for (tree, model) in &held {
            check(tree, model);
            for &(start, end) in &ranges {
                check_range(tree, model, start, end);
            }
            for key in (0..KEYS).step_by(97) {
                prop_assert_eq!(tree.get(&key), model.get(&key));
            }
        }
    }
}

#[test]
fn a_tree_loaded_in_order_and_emptied_in_any_order_is_empty() {
    for step in [1, 7, 4999] {
        let mut tree: Tree<u32, u32> = (0..5000).map(|key| (key, key)).collect();
        for i in 0..5000 {
            let key = i * step % 5000;
            assert_eq!(tree.remove(&key), Some((key, key)));
        }
        assert!(tree.is_empty() && tree.iter().next().is_none());
    }
}
