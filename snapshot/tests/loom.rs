//! Every interleaving of the map, through its public API.
#![cfg(machinery_loom)]

use loom::thread;
use machinery_snapshot::{Index, Map, Snapshot};
use std::sync::Arc;

fn model(test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.max_branches = 10_000;
    builder.check(test);
}

/// Numbers by key, with an index of the numbers.
struct NumberMap {
    map: Map<u8, u8>,
    by_number: Index<u8>,
}

fn numbers(pairs: &[(u8, u8)]) -> Arc<NumberMap> {
    let mut builder = Map::builder(1);
    let by_number = builder.index(|_, number: &u8| [*number]);
    let map = builder.build();
    let mut writer = map.write();
    writer.extend(pairs.iter().copied());
    writer.commit();
    Arc::new(NumberMap { map, by_number })
}

impl NumberMap {
    /// Returns the content of a snapshot after reading it through the map, through its index, and
    /// key by key.
    fn content(&self, snapshot: &Snapshot<u8, u8>) -> Vec<(u8, u8)> {
        let mut listed: Vec<(u8, u8)> = snapshot.iter().map(|(key, number)| (*key, *number)).collect();
        listed.sort_unstable();
        let mut indexed: Vec<(u8, u8)> =
            snapshot.range::<u8, u8>(&self.by_number, ..).map(|(key, number)| (*key, *number)).collect();
        indexed.sort_unstable();
        assert_eq!(listed, indexed, "the map and its index are of one moment");
        for (key, number) in &listed {
            assert_eq!(snapshot.get(key), Some(number), "and so is the table");
        }
        assert_eq!(snapshot.len(), listed.len());
        listed
    }

    fn now(&self) -> Vec<(u8, u8)> {
        self.content(&self.map.snapshot())
    }
}

/// Two readers read twice each beside a writer; each sees states of this list, and never goes back.
fn readers_see(start: &'static [(u8, u8)], write: fn(&Map<u8, u8>), states: &'static [&'static [(u8, u8)]]) {
    model(move || {
        let numbers = numbers(start);
        let look = |numbers: Arc<NumberMap>| {
            let at = |seen: &[(u8, u8)]| states.iter().position(|&state| state == seen);
            let looks = [numbers.now(), numbers.now()];
            let places =
                looks.each_ref().map(|seen| at(seen).unwrap_or_else(|| panic!("half a change: {seen:?}")));
            assert!(places.is_sorted(), "nobody goes back: {looks:?}");
        };
        let other = {
            let numbers = numbers.clone();
            thread::spawn(move || look(numbers))
        };
        let writing = {
            let numbers = numbers.clone();
            thread::spawn(move || write(&numbers.map))
        };
        look(numbers.clone());
        other.join().expect("it did not panic");
        writing.join().expect("it did not panic");
        assert_eq!(numbers.now(), *states[states.len() - 1]);
    });
}

#[test]
fn changes_of_one_entry_are_seen_with_their_index() {
    let write = |map: &Map<u8, u8>| {
        map.insert(1, 20);
        map.remove(&2);
        map.insert(3, 20);
    };
    readers_see(
        &[(1, 10), (2, 20)],
        write,
        &[&[(1, 10), (2, 20)], &[(1, 20), (2, 20)], &[(1, 20)], &[(1, 20), (3, 20)]],
    );
}

#[test]
fn a_change_of_several_entries_is_seen_whole() {
    let write = |map: &Map<u8, u8>| {
        let mut writer = map.write();
        writer.insert(1, 20);
        writer.insert(2, 10);
        writer.remove(&3);
        writer.commit();
    };
    readers_see(&[(1, 10), (2, 20), (3, 30)], write, &[&[(1, 10), (2, 20), (3, 30)], &[(1, 20), (2, 10)]]);
}

#[test]
fn a_replaced_map_is_seen_whole() {
    let write = |map: &Map<u8, u8>| {
        let mut writer = map.write();
        writer.clear();
        writer.extend([(2, 10), (3, 10)]);
        writer.commit();
    };
    readers_see(&[(1, 10), (2, 20)], write, &[&[(1, 10), (2, 20)], &[(2, 10), (3, 10)]]);
}

#[test]
fn deferred_indexes_are_seen_with_their_entries() {
    let write = |map: &Map<u8, u8>| {
        let mut writer = map.write();
        writer.defer_indexes();
        writer.replace(1, 20);
        writer.replace(1, 30);
        writer.take(&2);
        writer.commit();
    };
    readers_see(&[(1, 10), (2, 20)], write, &[&[(1, 10), (2, 20)], &[(1, 30)]]);
}

#[test]
fn a_get_beside_changes_in_place_never_goes_back() {
    model(|| {
        let numbers = numbers(&[(1, 10), (2, 20)]);
        let getting = {
            let numbers = numbers.clone();
            thread::spawn(move || {
                let seen = [numbers.map.get(&1), numbers.map.get(&1), numbers.map.get(&1)];
                let place = |number| [Some(10), Some(11), None, Some(12)].iter().position(|&n| n == number);
                assert!(seen.map(place).iter().all(Option::is_some), "{seen:?}");
                assert!(seen.map(place).is_sorted(), "{seen:?}");
            })
        };
        let listing = {
            let numbers = numbers.clone();
            thread::spawn(move || numbers.now())
        };
        numbers.map.insert(1, 11);
        numbers.map.remove(&1);
        numbers.map.insert(1, 12);
        getting.join().expect("it did not panic");
        listing.join().expect("it did not panic");
        assert_eq!(numbers.now(), [(1, 12), (2, 20)]);
    });
}

#[test]
fn a_change_that_is_dropped_is_never_seen() {
    let write = |map: &Map<u8, u8>| {
        let mut writer = map.write();
        writer.insert(3, 30);
        writer.remove(&1);
        drop(writer);
        let mut writer = map.write();
        writer.insert(4, 40);
        drop(writer);
    };
    readers_see(&[(1, 10), (2, 20)], write, &[&[(1, 10), (2, 20)]]);
}

/// The table is full: the next key needs a new one, and dead candidates are not copied.
#[test]
fn a_key_is_found_while_the_table_is_rebuilt() {
    model(|| {
        let numbers = numbers(&[]);
        for key in 0..7 {
            numbers.map.insert(key, key);
        }
        numbers.map.remove(&6);
        let older = numbers.map.snapshot();
        numbers.map.remove(&5);
        let getting = {
            let numbers = numbers.clone();
            thread::spawn(move || {
                for _ in 0..2 {
                    assert_eq!((numbers.map.get(&0), numbers.map.get(&5)), (Some(0), None));
                }
            })
        };
        let writing = {
            let numbers = numbers.clone();
            thread::spawn(move || {
                numbers.map.insert(7, 7);
                numbers.map.insert(8, 8);
            })
        };
        assert_eq!((older.get(&5), older.get(&6), older.get(&7)), (Some(&5), None, None));
        getting.join().expect("it did not panic");
        writing.join().expect("it did not panic");
        assert_eq!(numbers.content(&older).len(), 6);
        assert_eq!(numbers.now().len(), 7);
    });
}

#[test]
fn a_snapshot_keeps_a_key_that_is_removed_and_inserted_again() {
    model(|| {
        let numbers = numbers(&[(1, 10), (2, 20)]);
        let older = numbers.map.snapshot();
        let reading = {
            let (numbers, older) = (numbers.clone(), older.clone());
            thread::spawn(move || assert_eq!(numbers.content(&older), [(1, 10), (2, 20)]))
        };
        let writing = {
            let numbers = numbers.clone();
            thread::spawn(move || {
                numbers.map.remove(&1);
                numbers.map.insert(3, 30); // where 1 was
                numbers.map.insert(1, 40);
            })
        };
        assert_eq!(numbers.content(&older), [(1, 10), (2, 20)]);
        drop(older);
        reading.join().expect("it did not panic");
        writing.join().expect("it did not panic");
        assert_eq!(numbers.now(), [(1, 40), (2, 20), (3, 30)]);
    });
}

#[test]
fn two_writers_lose_nothing() {
    model(|| {
        let numbers = numbers(&[(1, 10)]);
        let add = |numbers: Arc<NumberMap>| move || numbers.map.update(&1, |number| *number += 1);
        let others = [thread::spawn(add(numbers.clone())), thread::spawn(add(numbers.clone()))];
        let seen = numbers.now()[0].1;
        assert!((10..=12).contains(&seen));
        for other in others {
            other.join().expect("it did not panic");
        }
        assert_eq!(numbers.now(), [(1, 12)]);
    });
}
