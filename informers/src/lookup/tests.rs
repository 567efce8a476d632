//! Lookup maps: every order of events, and a model of moving objects.

use super::{Lookup, LookupMap};
use machinery_objects::{Event, LeaveReason, ObjectKey, Revision};
use machinery_sync::Mutex;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

type TestMap = LookupMap<char, u64>;
type ChangedNames = Arc<Mutex<Vec<ObjectKey>>>;

fn map() -> (TestMap, ChangedNames) {
    let changed = ChangedNames::default();
    let record = changed.clone();
    (LookupMap::new(1, move |name| record.lock().push(name.clone())), changed)
}

fn name(text: &str) -> ObjectKey {
    text.parse().expect("it is a name")
}

const fn at(version: u64) -> Option<Revision> {
    Some(Revision(version))
}

#[derive(Clone, Copy)]
enum LookupStep {
    /// A key has the object in this version.
    Put(char, u64),
    /// The object under a key was deleted at this version.
    End(char, u64),
    /// A relist did not contain the object.
    Missed(char),
    Release(char),
    VersionsRestart,
}
use LookupStep::*;

/// Compares the lookup and the newest holder after each step.
fn check(steps: &[LookupStep], expected: &[&str]) {
    let (map, changed) = map();
    let name = name("a");
    let mut found = Vec::new();
    for step in steps {
        let before = changed.lock().len();
        match *step {
            Put(key, version) => map.put(&key, &name, version, at(version)),
            End(key, version) => map.remove(&key, &name, at(version)),
            Missed(key) => map.remove(&key, &name, None),
            Release(key) => drop(map.release(&key)),
            VersionsRestart => map.versions_restarted(),
        }
        let changed = changed.lock().len() > before;
        let is_as_read = map.read().lookup(&name) == map.lookup(&name);
        assert!(is_as_read && map.read().newest(&name) == map.newest(&name));
        found.push(format!(
            "{} {}{}",
            text(map.lookup(&name)),
            text(map.newest(&name)),
            if changed { "" } else { " untold" }
        ));
    }
    assert_eq!(found, expected);
}

fn text(found: Lookup<char, u64>) -> String {
    match found {
        Lookup::Absent => "-".into(),
        Lookup::Unique(key, version) => format!("{key}{version}"),
        Lookup::Ambiguous(keys) => keys.into_iter().collect(),
    }
}

#[test]
fn an_object_that_moves_ends_under_its_new_key_in_either_order() {
    check(&[Put('x', 1), Put('y', 2), End('x', 2)], &["x1 x1", "xy y2", "y2 y2"]);
    check(&[Put('x', 1), End('x', 2), Put('y', 2)], &["x1 x1", "- -", "y2 y2"]);
    check(&[Put('y', 2), Put('x', 1), End('x', 2)], &["y2 y2", "xy y2", "y2 y2"]);
}

#[test]
fn a_deleted_object_does_not_reappear_under_its_former_key() {
    check(&[Put('x', 1), Put('y', 2), End('y', 3), End('x', 2)], &["x1 x1", "xy y2", "- -", "- -"]);
    // y had version 2, so version 1 under x is superseded.
    check(&[Put('x', 1), Put('y', 2), Missed('y')], &["x1 x1", "xy y2", "- -"]);
    check(&[Put('x', 1), Put('y', 2), Release('y')], &["x1 x1", "xy y2", "- -"]);
    // An object created again is later than the deletion.
    check(&[Put('x', 1), Put('y', 2), End('y', 3), Put('z', 4)], &["x1 x1", "xy y2", "- -", "z4 z4"]);
    check(&[Put('x', 1), Put('y', 2), End('y', 3), Put('x', 4)], &["x1 x1", "xy y2", "- -", "x4 x4"]);
    // Nor does an event that arrives late.
    check(&[Put('x', 1), Put('y', 4), End('y', 5), Put('z', 3)], &["x1 x1", "xy y4", "- -", "- -"]);
}

#[test]
fn an_object_that_moves_back_is_found_at_once() {
    check(&[Put('x', 1), Put('y', 2), End('y', 3), Put('x', 3)], &["x1 x1", "xy y2", "- -", "x3 x3"]);
    check(&[Put('y', 2), Put('x', 3), End('y', 3)], &["y2 y2", "xy x3", "x3 x3"]);
}

#[test]
fn a_deletion_without_final_state_supersedes_no_later_holder() {
    // y lost the object at some time after 2, and x holds it since 3.
    check(&[Put('y', 2), Put('x', 3), Missed('y')], &["y2 y2", "xy x3", "x3 x3"]);
}

#[test]
fn the_first_of_equal_versions_is_newest() {
    check(&[Put('y', 5), Put('x', 5), Release('x')], &["y5 y5", "xy x5", "y5 y5"]);
}

#[test]
fn restarted_versions_supersede_nothing() {
    check(
        &[Put('x', 8), Put('y', 9), End('y', 9), VersionsRestart, VersionsRestart],
        &["x8 x8", "xy y9", "- -", "x8 x8", "x8 x8 untold"],
    );
}

#[test]
fn no_callback_without_a_change() {
    check(
        &[End('x', 1), Put('x', 2), End('y', 3), Release('y')],
        &["- - untold", "x2 x2", "x2 x2 untold", "x2 x2 untold"],
    );
}

#[test]
fn unordered_versions_have_no_newest() {
    let (map, _) = map();
    let name = name("a");
    map.put(&'x', &name, 1, None);
    map.put(&'y', &name, 2, None);
    assert_eq!(map.newest(&name), Lookup::Ambiguous(vec!['x', 'y']));
    map.remove(&'y', &name, None);
    assert_eq!(map.lookup(&name), Lookup::Unique('x', 1));
}

#[test]
fn events_update_the_map() {
    let (map, _) = map();
    let name = name("a");
    let record = |key: char, event: Event<u64>, version| {
        map.apply(&key, &name, &event, at(version));
        text(map.newest(&name))
    };
    assert_eq!(record('x', Event::Added { object: 1, initial: true }, 1), "x1");
    assert_eq!(record('y', Event::Added { object: 2, initial: false }, 2), "y2");
    assert_eq!(record('y', Event::Updated { old: 2, object: 3 }, 3), "y3");
    assert_eq!(record('x', Event::Left { last: 1, because: LeaveReason::Changed }, 2), "y3");
    assert_eq!(record('z', Event::Added { object: 4, initial: false }, 4), "z4");
    // For a vanished object the version is that of its last state, not of its deletion.
    assert_eq!(record('y', Event::Deleted { last: 3, final_state_known: false }, 9), "z4");
    assert_eq!(record('z', Event::Deleted { last: 5, final_state_known: true }, 5), "-");
}

#[test]
fn release_returns_and_reports_each_name() {
    let (map, changed) = map();
    for (at, key) in ['x', 'y', 'x', 'x'].into_iter().enumerate() {
        map.put(&key, &name(&format!("n{at}")), at as u64, None);
    }
    changed.lock().clear();
    let before = map.read();
    let mut released = map.release(&'x');
    released.sort();
    assert_eq!(released, [(name("n0"), 0), (name("n2"), 2), (name("n3"), 3)]);
    assert_eq!(changed.lock().iter().collect::<BTreeSet<_>>().len(), 3);
    assert_eq!((before.count(&'x'), before.len()), (3, 4));
    let now = map.read();
    assert_eq!((now.under(&'x').count(), now.under(&'y').count(), now.len()), (0, 1, 1));
}

#[test]
fn a_panicking_callback_skips_no_name() {
    let changed = ChangedNames::default();
    let record = changed.clone();
    let map = LookupMap::new(1, move |name: &ObjectKey| {
        record.lock().push(name.clone());
        assert_ne!(name.name(), "n1", "on purpose");
    });
    let put = |at: u64| map.put(&'x', &name(&format!("n{at}")), at, None);
    put(0);
    catch_unwind(AssertUnwindSafe(|| put(1))).expect_err("the panic is resumed in the caller");
    put(2);
    changed.lock().clear();
    catch_unwind(AssertUnwindSafe(|| map.release(&'x'))).expect_err("it goes on");
    assert_eq!(changed.lock().len(), 3);
    assert!(map.read().is_empty());
}

/// An operation of the model.
#[derive(Clone, Debug)]
enum WorldOp {
    /// Moves the object of a name to a key, or deletes it.
    Move(u8, Option<char>),
    /// Delivers the next event of a key's stream.
    Deliver(char),
    /// Releases a key; its stream starts again with the current objects.
    Release(char),
}

fn op() -> impl Strategy<Value = WorldOp> {
    let key = prop_oneof![Just('x'), Just('y'), Just('z')];
    prop_oneof![
        4 => (0..3_u8, prop::option::weighted(0.8, key.clone())).prop_map(|(name, key)| WorldOp::Move(name, key)),
        6 => key.clone().prop_map(WorldOp::Deliver),
        1 => key.prop_map(WorldOp::Release),
    ]
}

/// An event of a stream: a name, the object or its deletion, and the version.
type StreamEvent = (u8, Option<u64>, u64);

#[derive(Default)]
struct MoveModel {
    clock: u64,
    positions: BTreeMap<u8, (char, u64)>,
    streams: BTreeMap<char, Vec<StreamEvent>>,
    /// The holders that the map knows, and whether a later deletion supersedes each.
    held: BTreeMap<u8, BTreeMap<char, (u64, bool)>>,
    /// The latest deletion that supersedes a holder.
    ends: BTreeMap<u8, u64>,
}

impl MoveModel {
    fn change(&mut self, name: u8, key: Option<char>) {
        self.clock += 1;
        let before = self.positions.remove(&name);
        if let Some((old, _)) = before
            && Some(old) != key
        {
            self.streams.entry(old).or_default().push((name, None, self.clock));
        }
        if let Some(key) = key {
            self.positions.insert(name, (key, self.clock));
            self.streams.entry(key).or_default().push((name, Some(self.clock), self.clock));
        }
    }

    fn deliver(&mut self, map: &TestMap, key: char) {
        let stream = self.streams.entry(key).or_default();
        if stream.is_empty() {
            return;
        }
        let (number, object, version) = stream.remove(0);
        let name = name(&number.to_string());
        match object {
            Some(object) => {
                map.put(&key, &name, object, at(version));
                let superseded = self.ends.get(&number).is_some_and(|&end| version < end);
                self.held.entry(number).or_default().insert(key, (version, superseded));
            }
            None => {
                map.remove(&key, &name, at(version));
                self.end(number, key, version);
            }
        }
        self.forget(number);
    }

    fn end(&mut self, number: u8, key: char, version: u64) {
        let held = self.held.entry(number).or_default();
        let Some((own, _)) = held.remove(&key) else { return };
        let end = version.max(own);
        for (version, superseded) in held.values_mut() {
            *superseded |= *version < end;
        }
        let latest = self.ends.entry(number).or_default();
        *latest = end.max(*latest);
        self.forget(number);
    }

    fn forget(&mut self, number: u8) {
        if self.held.get(&number).is_none_or(|held| held.values().all(|(_, superseded)| !superseded)) {
            self.ends.remove(&number);
        }
    }

    fn release(&mut self, map: &TestMap, key: char) {
        let released: BTreeSet<_> = map.release(&key).into_iter().map(|(name, _)| name.to_string()).collect();
        let had: Vec<u8> =
            self.held.iter().filter(|(_, held)| held.contains_key(&key)).map(|(name, _)| *name).collect();
        assert_eq!(released, had.iter().map(u8::to_string).collect(), "all that was seen under it");
        for number in had {
            self.end(number, key, 0);
        }
        // A new stream starts with the current objects.
        let now = self.positions.iter().filter(|(_, (holder, _))| *holder == key);
        let begin = now.map(|(name, (_, version))| (*name, Some(*version), *version)).collect();
        self.streams.insert(key, begin);
    }

    fn check(&self, map: &TestMap) {
        for number in 0..3 {
            let counting = || {
                let held = self.held.get(&number).into_iter().flatten();
                held.filter(|(_, (_, superseded))| !superseded).map(|(key, (version, _))| (*key, *version))
            };
            let expected = match counting().count() {
                0 => Lookup::Absent,
                1 => counting().next().map_or(Lookup::Absent, |(key, version)| Lookup::Unique(key, version)),
                _ => Lookup::Ambiguous(counting().map(|(key, _)| key).collect()),
            };
            let newest = counting().max_by_key(|(_, version)| *version);
            let newest = newest.map_or(Lookup::Absent, |(key, version)| Lookup::Unique(key, version));
            let name = name(&number.to_string());
            assert_eq!((map.lookup(&name), map.newest(&name)), (expected, newest), "{number}");
        }
        for key in ['x', 'y', 'z'] {
            let had = self.held.values().filter(|held| held.contains_key(&key)).count();
            assert_eq!((map.read().under(&key).count(), map.read().count(&key)), (had, had));
        }
    }
}

fn the_end_is_the_truth(ops: &[WorldOp]) {
    let (map, changed) = map();
    let mut model = MoveModel::default();
    // The view of a reader that looks up a name only when the callback reports it.
    let mut known = BTreeMap::new();
    let mut read = |map: &TestMap| {
        for name in changed.lock().drain(..) {
            known.insert(name.clone(), (map.lookup(&name), map.newest(&name)));
        }
        for (name, known) in &known {
            assert_eq!(*known, (map.lookup(name), map.newest(name)), "each change is reported");
        }
    };
    for op in ops {
        match op {
            WorldOp::Move(name, key) => model.change(*name, *key),
            WorldOp::Deliver(key) => model.deliver(&map, *key),
            WorldOp::Release(key) => model.release(&map, *key),
        }
        model.check(&map);
        read(&map);
    }
    for key in ['x', 'y', 'z'] {
        while model.streams.get(&key).is_some_and(|stream| !stream.is_empty()) {
            model.deliver(&map, key);
            read(&map);
        }
    }
    for number in 0..3 {
        let positions = model
            .positions
            .get(&number)
            .map_or(Lookup::Absent, |(key, version)| Lookup::Unique(*key, *version));
        let name = name(&number.to_string());
        assert_eq!((map.lookup(&name), map.newest(&name)), (positions.clone(), positions));
    }
    assert_eq!(map.read().len(), model.positions.len(), "deleted objects leave nothing");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, ..ProptestConfig::default() })]

    #[test]
    fn after_all_events_the_map_equals_the_model(ops in prop::collection::vec(op(), 0..60)) {
        the_end_is_the_truth(&ops);
    }
}
