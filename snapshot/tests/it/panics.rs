//! User code that panics, in any call: the map is afterwards in the state before or after the
//! change.

use machinery_snapshot::{Index, Map, Tree};
use std::borrow::Borrow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

thread_local! {
    /// Number of calls of user code until one panics.
    static FUSE: Cell<Option<u32>> = const { Cell::new(None) };
}

fn burn(what: &str) {
    FUSE.with(|fuse| match fuse.get() {
        Some(0) => {
            fuse.set(None);
            panic!("the fuse, in {what}");
        }
        Some(left) => fuse.set(Some(left - 1)),
        None => {}
    });
}

/// Runs `work` so that its nth call of user code panics. Returns whether that call happened.
fn with_fuse(calls: u32, work: impl FnOnce()) -> bool {
    FUSE.with(|fuse| fuse.set(Some(calls)));
    let burnt = catch_unwind(AssertUnwindSafe(work)).is_err();
    FUSE.with(|fuse| fuse.set(None));
    burnt
}

/// A number that counts down whenever it is cloned, compared or hashed.
#[derive(Debug)]
struct Touchy(u32);

impl Clone for Touchy {
    fn clone(&self) -> Self {
        burn("clone");
        Self(self.0)
    }
}

impl PartialEq for Touchy {
    fn eq(&self, other: &Self) -> bool {
        burn("eq");
        self.0 == other.0
    }
}

impl Eq for Touchy {}

impl PartialOrd for Touchy {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Touchy {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        burn("cmp");
        self.0.cmp(&other.0)
    }
}

impl Hash for Touchy {
    fn hash<H: Hasher>(&self, state: &mut H) {
        burn("hash");
        self.0.hash(state);
    }
}

/// Texts in the order of numbers.
static TEXTS: LazyLock<Vec<String>> =
    LazyLock::new(|| (0..10_000).map(|number| format!("{number:09}")).collect());

impl Borrow<str> for Touchy {
    fn borrow(&self) -> &str {
        burn("borrow");
        &TEXTS[self.0 as usize]
    }
}

struct Subject {
    map: Map<Touchy, Touchy>,
    /// Each entry in its own change.
    by_key: Index<Touchy>,
    /// Many entries in one change.
    by_tens: Index<Touchy>,
}

impl Subject {
    fn new(entries: u32, text_keys: bool) -> Self {
        let mut builder = Map::builder(1);
        let by_tens = builder.index(|_, value: &Touchy| {
            burn("an index");
            [Touchy(value.0 / 10), Touchy(1000 + value.0 % 3)]
        });
        // Last, so that the change that may panic is not the first one.
        let by_key = match text_keys {
            true => builder.keys(),
            false => builder.index(|key: &Touchy, _| {
                burn("an index");
                [Touchy(key.0)]
            }),
        };
        let map = builder.build();
        for i in 0..entries {
            map.insert(Touchy(i), Touchy(i));
        }
        Self { map, by_key, by_tens }
    }

    fn content(&self) -> BTreeMap<u32, u32> {
        self.map.snapshot().iter().map(|(key, value)| (key.0, value.0)).collect()
    }

    /// Checks that the map and both indexes agree, and that the map works.
    fn check_whole(&self) {
        let content = self.content();
        let snapshot = self.map.snapshot();
        assert_eq!(snapshot.len(), content.len());
        for (&key, &value) in &content {
            assert_eq!(snapshot.get(&Touchy(key)).map(|v| v.0), Some(value));
        }
        let keys: Vec<u32> = snapshot.range::<Touchy, Touchy>(&self.by_key, ..).map(|(k, _)| k.0).collect();
        assert!(keys.iter().eq(content.keys()), "the index of keys");
        let mut expected: BTreeMap<u32, usize> = BTreeMap::new();
        for value in content.values() {
            *expected.entry(value / 10).or_default() += 1;
            *expected.entry(1000 + value % 3).or_default() += 1;
        }
        let values = snapshot.values::<Touchy, Touchy>(&self.by_tens, ..);
        assert_eq!(values.map(|(value, count)| (value.0, count)).collect::<BTreeMap<_, _>>(), expected);
        for &value in expected.keys() {
            let found = snapshot.by(&self.by_tens, &Touchy(value));
            assert!(found.map(|(_, v)| v.0).all(|v| v / 10 == value || 1000 + v % 3 == value));
        }
    }
}

type Work = fn(&Map<Touchy, Touchy>);

const CHANGES: [(&str, Work); 10] = [
    ("a new key", |map| ignore(map.insert(Touchy(500), Touchy(41)))),
    ("a new key with new values", |map| ignore(map.insert(Touchy(500), Touchy(777)))),
    ("a value that moves nothing", |map| ignore(map.insert(Touchy(42), Touchy(42)))),
    ("a value that moves within existing values", |map| ignore(map.insert(Touchy(42), Touchy(53)))),
    ("a value that moves to a new place", |map| ignore(map.insert(Touchy(42), Touchy(4000)))),
    ("a value changed in its copy", |map| {
        let _ = map.update(&Touchy(42), |value| value.0 = 77);
    }),
    ("a key that leaves", |map| ignore(map.remove(&Touchy(42)))),
    ("several", |map| {
        let mut writer = map.write();
        for i in 30..60 {
            writer.insert(Touchy(i), Touchy(i * 7));
        }
        writer.remove(&Touchy(3));
        writer.retain(|key, _| {
            burn("retain");
            key.0 % 5 != 0
        });
        writer.commit();
    }),
    ("most, with the indexes last", |map| {
        let mut writer = map.write();
        writer.insert(Touchy(3), Touchy(30));
        writer.defer_indexes();
        for i in 30..60 {
            writer.replace(Touchy(i), Touchy(i * 7));
        }
        writer.remove(&Touchy(3));
        writer.commit();
    }),
    ("a replaced map", |map| {
        let mut writer = map.write();
        writer.clear();
        writer.extend((0..20).map(|i| (Touchy(i), Touchy(i + 1))));
        writer.commit();
    }),
];

#[test]
fn a_panic_anywhere_leaves_the_map_whole() {
    for (entries, text_keys) in [(100, false), (100, true), (0, false), (1, false), (1, true)] {
        for held in [false, true] {
            for (what, change) in CHANGES {
                let mut burnt = 0;
                loop {
                    let subject = Subject::new(entries, text_keys);
                    let older = subject.map.snapshot();
                    subject.map.insert(Touchy(7), Touchy(7));
                    let snapshot = held.then(|| subject.map.snapshot());
                    let before = subject.content();
                    let wanted = {
                        let clean = Subject::new(entries, text_keys);
                        clean.map.insert(Touchy(7), Touchy(7));
                        change(&clean.map);
                        clean.content()
                    };
                    let done = !with_fuse(burnt, || change(&subject.map));
                    let after = subject.content();
                    subject.check_whole();
                    assert!(after == wanted || !done && after == before, "{what}, call {burnt}: half of it");
                    // The map continues to work: the change can be repeated, and is visible.
                    if !done {
                        change(&subject.map);
                        assert_eq!(subject.content(), wanted, "{what}, call {burnt}");
                        subject.check_whole();
                    }
                    if let Some(snapshot) = snapshot {
                        assert_eq!(snapshot.len(), before.len());
                    }
                    drop(older);
                    if done {
                        break;
                    }
                    burnt += 1;
                }
                assert!(burnt > 0 || entries < 100, "{what}: nothing of the user's was called");
            }
        }
    }
}

#[test]
fn a_writer_after_a_panic_commits_nothing_more() {
    let subject = Subject::new(100, false);
    let before = subject.content();
    for calls in 0.. {
        let mut writer = subject.map.write();
        writer.insert(Touchy(200), Touchy(200));
        writer.insert(Touchy(201), Touchy(201));
        let burnt = with_fuse(calls, || ignore(writer.insert(Touchy(202), Touchy(999))));
        if !burnt {
            assert!(calls > 10, "an insert calls the user's code more often than that");
            break;
        }
        // Whether it is poisoned or only lacks the last change, its commit is consistent.
        let committed = catch_unwind(AssertUnwindSafe(|| writer.commit())).is_ok();
        subject.check_whole();
        if committed {
            assert_eq!(subject.content().len(), before.len() + 2);
            subject.map.remove(&Touchy(200));
            subject.map.remove(&Touchy(201));
        }
        assert_eq!(subject.content(), before);
    }
}

#[test]
fn a_panic_anywhere_leaves_a_tree_as_it_was() {
    let full = || -> Tree<Touchy, Touchy> { (0..2000).map(|i| (Touchy(i * 2), Touchy(i))).collect() };
    let content = |tree: &Tree<Touchy, Touchy>| tree.iter().map(|(k, v)| (k.0, v.0)).collect::<Vec<_>>();
    let changes: [fn(&mut Tree<Touchy, Touchy>); 3] = [
        |tree| ignore(tree.insert(Touchy(1001), Touchy(0))),
        |tree| ignore(tree.remove(&Touchy(1000))),
        |tree| assert!(tree.get_mut(&Touchy(1000)).is_some()),
    ];
    for shared in [false, true] {
        for thinned in [false, true] {
            for change in changes {
                for calls in 0.. {
                    let mut tree = full();
                    if thinned {
                        for i in 0..2000 {
                            if i % 16 != 0 && i * 2 != 1000 {
                                tree.remove(&Touchy(i * 2));
                            }
                        }
                    }
                    let clone = shared.then(|| tree.clone());
                    let before = content(&tree);
                    let done = !with_fuse(calls, || change(&mut tree));
                    assert_eq!(tree.len(), content(&tree).len());
                    if !done {
                        assert_eq!(content(&tree), before, "call {calls}");
                    }
                    if let Some(clone) = clone {
                        assert_eq!(content(&clone), before);
                    }
                    if done {
                        break;
                    }
                }
            }
        }
    }
}

fn ignore<T>(_: T) {}
