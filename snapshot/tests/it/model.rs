//! Random operations on the map, compared with a map that is cloned for each snapshot and searched
//! for each index.

use machinery_snapshot::{Index, Label, Map, Snapshot, Writer};
use proptest::prelude::*;
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::ops::Bound;
use std::sync::LazyLock;

/// Keys with colliding hashes, all of them if `classes` is one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    id: u8,
    classes: u8,
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.id % self.classes).hash(state);
    }
}

/// Texts of keys, in the order of keys.
static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| (0..KEYS).map(|id| format!("key-{id:04}")).collect());

impl Borrow<str> for Key {
    fn borrow(&self) -> &str {
        &TEXTS[usize::from(self.id)]
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Value {
    number: u16,
    /// An optional value.
    node: Option<u8>,
    /// Any number of values, with duplicates.
    tags: Vec<u8>,
    labels: BTreeMap<String, String>,
    name: String,
}

type MapModel = BTreeMap<u8, Value>;

struct Indexes {
    map: Map<Key, Value>,
    by_key: Index<u8>,
    by_text: Index<Key>,
    by_node: Index<u8>,
    by_tag: Index<u8>,
    by_label: Index<Label>,
    by_name: Index<std::sync::Arc<str>>,
}

impl Indexes {
    fn new(seed: u64) -> Self {
        let mut builder = Map::builder(seed);
        Self {
            by_key: builder.index(|key: &Key, _| [key.id]),
            by_text: builder.keys(),
            by_node: builder.index(|_, value: &Value| value.node),
            by_tag: builder.index(|_, value: &Value| value.tags.clone()),
            by_label: builder.labels(|value: &Value| &value.labels),
            by_name: builder.text(|_, value: &Value| (!value.name.is_empty()).then_some(&value.name)),
            map: builder.build(),
        }
    }

    /// Compares every query of a snapshot with the model.
    fn check(&self, snapshot: &Snapshot<Key, Value>, model: &MapModel, classes: u8) {
        assert_eq!(snapshot.len(), model.len());
        for id in 0..KEYS {
            let key = Key { id, classes };
            assert_eq!(snapshot.get(&key), model.get(&id), "get {id}");
            assert_eq!(snapshot.entry(&key).map(|(key, _)| key.id), model.get(&id).map(|_| id));
        }
        let all: BTreeMap<u8, &Value> = snapshot.iter().map(|(key, value)| (key.id, value)).collect();
        assert!(all.iter().map(|(id, value)| (id, *value)).eq(model), "iter");
        assert_eq!(snapshot.iter().count(), model.len());

        let key_range: Vec<u8> = snapshot.range(&self.by_key, 3..17).map(|(key, _)| key.id).collect();
        assert!(key_range.iter().eq(model.range(3..17).map(|(id, _)| id)), "range");
        let back: Vec<u8> = snapshot.range(&self.by_key, ..).rev().map(|(key, _)| key.id).collect();
        assert!(back.iter().eq(model.keys().rev()), "range, backwards");
        let (mut range, mut keys) = (snapshot.range(&self.by_key, ..), model.keys());
        for turn in 0..=model.len() {
            let (found, expected) = match turn % 5 {
                0 | 3 => (range.next_back(), keys.next_back()),
                _ => (range.next(), keys.next()),
            };
            assert_eq!(found.map(|(key, _)| &key.id), expected, "range, from both ends");
            assert_eq!(range.clone().count(), keys.len(), "the rest of the range");
        }

        let texts = (Bound::Included("key-0003"), Bound::Excluded("key-0017"));
        let texts: Vec<u8> =
            snapshot.range::<Key, str>(&self.by_text, texts).map(|(key, _)| key.id).collect();
        assert_eq!(texts, key_range, "range of texts");
        let values = snapshot.values::<Key, str>(&self.by_text, ..).map(|(key, count)| (key.id, count));
        assert!(values.eq(model.keys().map(|id| (*id, 1))), "every key once");

        check_index(snapshot, &self.by_node, model, |value| value.node.into_iter().collect());
        check_index(snapshot, &self.by_tag, model, |value| value.tags.iter().copied().collect());
        check_index(snapshot, &self.by_label, model, |value| value.labels.iter().map(Label::from).collect());
        check_index(snapshot, &self.by_name, model, |value| {
            (!value.name.is_empty()).then(|| value.name.as_str().into()).into_iter().collect()
        });
        for prefix in ["", "a", "ab", "b\u{10ffff}"] {
            let found: BTreeSet<u8> = snapshot.prefix(&self.by_name, prefix).map(|(key, _)| key.id).collect();
            let named = |value: &Value| !value.name.is_empty() && value.name.starts_with(prefix);
            let expected = model.iter().filter(|(_, value)| named(value)).map(|(&id, _)| id).collect();
            assert_eq!(found, expected, "prefix {prefix:?}");
        }
    }
}

/// Checks that an index has exactly the values of the entries, and exactly their entries.
fn check_index<I: Ord + Clone + std::fmt::Debug + 'static>(
    snapshot: &Snapshot<Key, Value>,
    index: &Index<I>,
    model: &MapModel,
    values: impl Fn(&Value) -> BTreeSet<I>,
) {
    let mut expected: BTreeMap<I, Vec<u8>> = BTreeMap::new();
    for (&id, value) in model {
        for found in values(value) {
            expected.entry(found).or_default().push(id);
        }
    }
    let counts: Vec<(I, usize)> =
        snapshot.values::<I, I>(index, ..).map(|(value, count)| (value.clone(), count)).collect();
    assert_eq!(counts, expected.iter().map(|(value, ids)| (value.clone(), ids.len())).collect::<Vec<_>>());
    for (value, ids) in &expected {
        let sorted = |found: Vec<u8>| {
            let count = found.len();
            let set: BTreeSet<u8> = found.into_iter().collect();
            assert_eq!(set.len(), count, "nobody comes twice");
            set.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(sorted(snapshot.by(index, value).map(|(key, _)| key.id).collect()), *ids, "by {value:?}");
        assert_eq!(sorted(snapshot.by(index, value).rev().map(|(key, _)| key.id).collect()), *ids);
        assert_eq!(snapshot.count(index, value), ids.len());
    }
}

const KEYS: u8 = 40;

#[derive(Clone, Debug)]
enum MapChange {
    Insert(u8, Value),
    Remove(u8),
    Renumber(u8, u16),
    RetainBelow(u8),
    Clear,
    Reserve(usize),
    Replace(u8, Value),
    Take(u8),
    IndexLast,
}

#[derive(Clone, Debug)]
enum MapOp {
    One(MapChange),
    /// Several changes, committed or dropped.
    Batch(Vec<MapChange>, bool),
    /// Takes a snapshot and holds it.
    Hold,
    LetGo(u8),
}

fn apply(writer: &mut Writer<'_, Key, Value>, model: &mut MapModel, change: &MapChange, classes: u8) {
    match change {
        MapChange::Insert(id, value) => {
            let before = writer.insert(Key { id: *id, classes }, value.clone());
            assert_eq!(before, model.insert(*id, value.clone()));
        }
        MapChange::Remove(id) => assert_eq!(writer.remove(&Key { id: *id, classes }), model.remove(id)),
        MapChange::Renumber(id, number) => {
            let renumber = |value: &mut Value| std::mem::replace(&mut value.number, *number);
            assert_eq!(writer.update(&Key { id: *id, classes }, renumber), model.get_mut(id).map(renumber));
        }
        MapChange::RetainBelow(limit) => {
            writer.retain(|key, _| key.id < *limit);
            model.retain(|id, _| id < limit);
        }
        MapChange::Clear => {
            writer.clear();
            model.clear();
        }
        MapChange::Reserve(more) => writer.reserve(*more),
        MapChange::Replace(id, value) => {
            let before = writer.replace(Key { id: *id, classes }, value.clone());
            assert_eq!(before, model.insert(*id, value.clone()));
        }
        MapChange::Take(id) => assert_eq!(writer.take(&Key { id: *id, classes }), model.remove(id)),
        MapChange::IndexLast => writer.defer_indexes(),
    }
    assert_eq!(writer.len(), model.len());
    for id in 0..KEYS {
        assert_eq!(writer.get(&Key { id, classes }), model.get(&id), "get {id} in the writer");
    }
}

fn run(seed: u64, classes: u8, ops: &[MapOp]) {
    let indexes = Indexes::new(seed);
    let mut model = MapModel::new();
    let mut held = Vec::new();
    for op in ops {
        match op {
            MapOp::One(change) => {
                let mut writer = indexes.map.write();
                apply(&mut writer, &mut model, change, classes);
                writer.commit();
            }
            MapOp::Batch(changes, keep) => {
                let mut changed = model.clone();
                let mut writer = indexes.map.write();
                for change in changes {
                    apply(&mut writer, &mut changed, change, classes);
                }
                indexes.check(&indexes.map.snapshot(), &model, classes);
                if *keep {
                    writer.commit();
                    model = changed;
                }
            }
            MapOp::Hold => held.push((indexes.map.snapshot(), model.clone())),
            MapOp::LetGo(at) if !held.is_empty() => drop(held.swap_remove(usize::from(*at) % held.len())),
            MapOp::LetGo(_) => {}
        }
        indexes.check(&indexes.map.snapshot(), &model, classes);
        for id in 0..KEYS {
            assert_eq!(indexes.map.get(&Key { id, classes }), model.get(&id).cloned());
        }
        let usage = indexes.map.usage();
        assert_eq!(usage.entries, model.len());
        assert!(usage.slots <= usize::from(KEYS) * 2, "{usage:?}");
        assert!(usage.buckets_used <= usage.buckets * 7 / 8, "{usage:?}");
    }
    for (snapshot, model) in &held {
        indexes.check(snapshot, model, classes);
    }
}

fn values() -> impl Strategy<Value = Value> {
    let label = (prop_oneof![Just("app"), Just("tier")], prop_oneof![Just(""), Just("web"), Just("db")]);
    let labels = prop::collection::vec(label, 0..3)
        .prop_map(|pairs| pairs.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect());
    let tags = prop::collection::vec(0..4_u8, 0..4);
    let name = prop_oneof![Just(""), Just("a"), Just("ab"), Just("abc"), Just("b"), Just("b\u{10ffff}c")];
    (any::<u16>(), prop::option::of(0..3_u8), tags, labels, name).prop_map(
        |(number, node, tags, labels, name)| Value { number, node, tags, labels, name: name.to_owned() },
    )
}

fn changes() -> impl Strategy<Value = MapChange> {
    let id = 0..KEYS;
    prop_oneof![
        10 => (id.clone(), values()).prop_map(|(id, value)| MapChange::Insert(id, value)),
        5 => id.clone().prop_map(MapChange::Remove),
        5 => (id.clone(), any::<u16>()).prop_map(|(id, number)| MapChange::Renumber(id, number)),
        1 => id.prop_map(MapChange::RetainBelow),
        1 => Just(MapChange::Clear),
        1 => (0..50_usize).prop_map(MapChange::Reserve),
        3 => (0..KEYS, values()).prop_map(|(id, value)| MapChange::Replace(id, value)),
        2 => (0..KEYS).prop_map(MapChange::Take),
        1 => Just(MapChange::IndexLast),
    ]
}

fn ops() -> impl Strategy<Value = Vec<MapOp>> {
    let op = prop_oneof![
        10 => changes().prop_map(MapOp::One),
        5 => (prop::collection::vec(changes(), 0..12), prop::bool::weighted(0.7))
            .prop_map(|(changes, keep)| MapOp::Batch(changes, keep)),
        3 => Just(MapOp::Hold),
        2 => any::<u8>().prop_map(MapOp::LetGo),
    ];
    prop::collection::vec(op, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    /// Compares every query of the map after every operation, and of all held snapshots at the end.
    #[test]
    fn the_map_is_the_model(
        seed in any::<u64>(),
        classes in prop_oneof![Just(1_u8), Just(5), Just(KEYS)],
        ops in ops(),
    ) {
        run(seed, classes, &ops);
    }
}
