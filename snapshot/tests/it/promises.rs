//! The promises of `lib.rs`, in order.

use machinery_snapshot::{Label, Map};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

#[test]
fn p01_a_snapshot_is_one_moment_of_everything() {
    let mut builder = Map::builder(1);
    let by_parity = builder.index(|_, value: &u32| [value % 2]);
    let by_value = builder.index(|_, value: &u32| [*value]);
    let map = builder.build();
    for key in 0..100_u32 {
        map.insert(key, key);
    }
    let before = map.snapshot();
    let mut writer = map.write();
    for key in 0..100 {
        writer.insert(key, key * 2);
    }
    writer.commit();
    map.remove(&7);
    map.insert(7, 1);
    let after = map.snapshot();
    assert_eq!((before.get(&7), after.get(&7)), (Some(&7), Some(&1)));
    assert_eq!((before.count(&by_parity, &1), after.count(&by_parity, &1)), (50, 1));
    assert!(before.range(&by_value, 10..13).map(|(key, _)| *key).eq([10, 11, 12]));
    assert!(after.range(&by_value, 10..15).map(|(key, _)| *key).eq([5, 6]));
    assert_eq!((before.len(), after.len()), (100, 100));
}

/// Two snapshots without a change between them share all entries; and later ones share the
/// unchanged entries with earlier ones, except neighbours of changed ones.
#[test]
fn p02_a_snapshot_copies_nothing() {
    let map: Map<u32, [u64; 4]> = Map::builder(1).build();
    for key in 0..10_000 {
        map.insert(key, [0; 4]);
    }
    let (one, two) = (map.snapshot(), map.snapshot());
    map.insert(5000, [1; 4]);
    let three = map.snapshot();
    let shared = |key: u32| std::ptr::eq(one.get(&key).unwrap(), three.get(&key).unwrap());
    assert!(std::ptr::eq(one.get(&5000).unwrap(), two.get(&5000).unwrap()));
    let copied: Vec<u32> = (0..10_000).filter(|&key| !shared(key)).collect();
    assert_eq!(copied, [5000, 5001, 5002, 5003], "a block of four");
}

#[test]
fn p02_a_reader_in_the_middle_of_a_list_blocks_no_writer() {
    let map: Map<u32, u32> = Map::builder(1).build();
    for key in 0..1000 {
        map.insert(key, 0);
    }
    let snapshot = map.snapshot();
    let mut list = snapshot.iter();
    for key in 0..1000 {
        assert_eq!(list.next(), Some((&key, &0)));
        map.insert(999 - key, 1);
    }
    assert!(map.snapshot().iter().all(|(_, value)| *value == 1));
}

#[test]
fn p03_a_writer_is_seen_whole_or_not_at_all() {
    let map: Map<u32, u32> = Map::builder(1).build();
    map.insert(1, 1);
    let mut writer = map.write();
    writer.insert(2, 2);
    writer.remove(&1);
    writer.update(&2, |value| *value += 1);
    assert_eq!((writer.get(&1), writer.get(&2), writer.len()), (None, Some(&3), 1));
    assert_eq!((map.get(&1), map.get(&2)), (Some(1), None));
    writer.commit();
    assert_eq!((map.get(&1), map.get(&2)), (None, Some(3)));
    let mut writer = map.write();
    writer.clear();
    drop(writer);
    assert_eq!((map.get(&2), map.len()), (Some(3), 1));
    map.write().commit();
    assert_eq!(map.len(), 1);
}

#[test]
fn p04_an_entry_has_any_number_of_values_each_once() {
    let mut builder = Map::<u32, Vec<&'static str>>::builder(1);
    let by_tag = builder.index(|_, tags: &Vec<&'static str>| tags.clone());
    let map = builder.build();
    map.insert(1, vec!["a", "b", "a"]);
    map.insert(2, vec![]);
    map.insert(3, vec!["b"]);
    let snapshot = map.snapshot();
    assert_eq!((snapshot.count(&by_tag, &"a"), snapshot.count(&by_tag, &"b")), (1, 2));
    map.insert(1, vec!["b", "b", "c"]);
    assert!(map.snapshot().values::<_, &str>(&by_tag, ..).eq([(&"b", 2), (&"c", 1)]));
    map.remove(&1);
    map.remove(&3);
    assert_eq!(map.snapshot().values::<_, &str>(&by_tag, ..).count(), 0, "a value goes with its last entry");
    assert_eq!(snapshot.by(&by_tag, &"b").count(), 2);
}

#[test]
fn p04_labels_are_found_by_pair_and_by_key() {
    type Labels = BTreeMap<String, String>;
    let mut builder = Map::<u32, Labels>::builder(1);
    let by_label = builder.labels(|labels: &Labels| labels);
    let map = builder.build();
    let labels = |pairs: &[(&str, &str)]| -> Labels {
        pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect()
    };
    map.insert(1, labels(&[("app", "web"), ("tier", "front")]));
    map.insert(2, labels(&[("app", "db")]));
    map.insert(3, labels(&[("apple", "web")]));
    let snapshot = map.snapshot();
    let keys = |found: Vec<(&u32, &Labels)>| found.into_iter().map(|(key, _)| *key).collect::<Vec<_>>();
    assert_eq!(keys(snapshot.by(&by_label, &Label::new("app", "web")).collect()), [1]);
    assert_eq!(keys(snapshot.range(&by_label, Label::any("app")).collect()), [2, 1]);
}

thread_local! {
    static COMPARED: Cell<usize> = const { Cell::new(0) };
}

#[derive(Clone, Debug)]
struct Counted(u32);

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Counted {}

impl PartialOrd for Counted {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Counted {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        COMPARED.with(|compared| compared.set(compared.get() + 1));
        self.0.cmp(&other.0)
    }
}

#[test]
fn p05_an_update_that_moves_no_value_touches_no_index() {
    let mut builder = Map::builder(1);
    let by_tens = builder.index(|_, value: &u32| [Counted(value / 10)]);
    let map = builder.build();
    for key in 0..1000 {
        map.insert(key, key);
    }
    let snapshot = map.snapshot();
    COMPARED.with(|compared| compared.set(0));
    for key in 0..1000 {
        map.update(&key, |value| *value = *value / 10 * 10);
    }
    assert_eq!(COMPARED.with(Cell::get), 0, "no tree was searched");
    assert_eq!(map.snapshot().count(&by_tens, &Counted(99)), snapshot.count(&by_tens, &Counted(99)));
}

#[test]
fn p05_a_list_costs_what_it_finds() {
    let mut builder = Map::builder(1);
    let by_value = builder.index(|_, value: &u32| [Counted(*value)]);
    let map = builder.build();
    let mut writer = map.write();
    writer.extend((0..100_000).map(|key| (key, key)));
    writer.commit();
    let snapshot = map.snapshot();
    COMPARED.with(|compared| compared.set(0));
    let found = snapshot.range(&by_value, Counted(50_000)..).take(100).count();
    assert_eq!(found, 100);
    let compared = COMPARED.with(Cell::get);
    assert!(compared < 40, "it begins in the middle and does not look at the rest: {compared}");
}

#[test]
fn p08_garbage_is_bounded_while_a_snapshot_is_held() {
    let map: Map<u32, u32> = Map::builder(1).build();
    for key in 0..1000 {
        map.insert(key, 0);
    }
    let held = map.snapshot();
    for round in 1..200 {
        for key in 0..500 {
            map.remove(&(key + (round - 1) * 500));
            map.insert(key + round * 500 + 500, round);
        }
        let usage = map.usage();
        assert!(usage.entries == 1000 && usage.slots <= 1001, "slots are used again at once: {usage:?}");
        assert!(usage.buckets <= 4096, "{usage:?}");
        assert!(usage.buckets_used * 5 <= usage.buckets * 4 + 5, "{usage:?}");
    }
    for key in 0..1000 {
        assert_eq!(held.get(&key), Some(&0), "and the snapshot still finds its own");
        assert_eq!(held.get(&(key + 1000)), None);
    }
}

#[test]
fn p08_a_shrunk_map_is_small() {
    let mut builder = Map::builder(1);
    let by_value = builder.index(|_, value: &u32| [*value]);
    let map = builder.build();
    let mut writer = map.write();
    writer.extend((0..50_000_u32).map(|key| (key, key)));
    writer.commit();
    for key in 0..49_990 {
        map.remove(&key);
    }
    let usage = map.usage();
    assert!(usage.entries == 10 && usage.buckets <= 512, "{usage:?}");
    assert_eq!(map.snapshot().range::<u32, u32>(&by_value, ..).count(), 10);
    let mut writer = map.write();
    writer.retain(|_, _| false);
    writer.commit();
    assert_eq!(map.usage().slots, 0);
}

#[test]
fn p08_one_key_inserted_and_removed_beside_snapshots_leaves_no_garbage() {
    let map: Map<u32, u32> = Map::builder(1).build();
    let mut held = std::collections::VecDeque::new();
    for round in 0..10_000 {
        map.insert(1, round);
        held.push_back(map.snapshot());
        map.remove(&1);
        if held.len() > 8 {
            held.pop_front();
        }
    }
    assert!(map.usage().buckets <= 16, "{:?}", map.usage());
}

#[test]
fn p08_a_map_replaced_repeatedly_does_not_grow() {
    let map: Map<u32, u32> = Map::builder(1).build();
    for round in 0..100 {
        let mut writer = map.write();
        writer.clear();
        writer.extend((0..10).map(|key| (key + round, round)));
        writer.commit();
    }
    let usage = map.usage();
    assert!((usage.entries, usage.slots) == (10, 10) && usage.buckets <= 64, "{usage:?}");
}

#[test]
fn p08_dropped_changes_leave_no_garbage() {
    let map: Map<u32, u32> = Map::builder(1).build();
    map.insert(0, 0);
    for round in 0..1000 {
        let mut writer = map.write();
        for key in 0..3 {
            writer.insert(2 + round * 3 + key, 0);
        }
        writer.remove(&0);
        drop(writer);
        map.insert(1, 1);
        map.remove(&1);
    }
    assert_eq!((map.get(&0), map.get(&1), map.len()), (Some(0), None, 1));
    let usage = map.usage();
    assert!(usage.slots == 2 && usage.buckets <= 64, "{usage:?}");
}

/// An inconsistent index function breaks its own index, and nothing else.
#[test]
fn an_inconsistent_index_function_never_panics() {
    let calls = std::sync::atomic::AtomicU32::new(0);
    let mut builder = Map::<u32, u32>::builder(1);
    let lying = builder.index(move |_, _| {
        (0..calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 4).collect::<Vec<_>>()
    });
    let honest = builder.index(|key, _| [*key]);
    let map = builder.build();
    for round in 0..20 {
        for key in 0..50 {
            map.insert(key, round);
            if (key + round) % 3 == 0 {
                map.remove(&(key / 2));
            }
        }
        let snapshot = map.snapshot();
        assert!(snapshot.range::<u32, u32>(&lying, ..).rev().count() <= 50 * 4);
        assert_eq!(snapshot.range::<u32, u32>(&honest, ..).count(), snapshot.len());
        assert_eq!(snapshot.iter().count(), snapshot.len());
    }
}

#[test]
fn an_index_of_another_map_is_refused() {
    let mut builder = Map::<u32, Arc<str>>::builder(1);
    builder.index(|key: &u32, _| [*key]);
    let map = builder.build();
    let mut other = Map::<u32, Arc<str>>::builder(1);
    let by_text = other.text(|_, value: &Arc<str>| Some(value));
    let wrong = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| map.snapshot().count(&by_text, "")));
    assert!(wrong.is_err());
}
