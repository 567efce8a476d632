//! Random schemas, values of them, and sequences of applies and updates.

use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;
use proptest::strategy::Union;
use serde_json::{Map, Value, json};

use super::tests::{TestSchema, fields};
use super::topology::{field_of, items_of};
use super::{ListMeta, ListType};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// One write of a random sequence.
#[derive(Clone, Debug)]
pub(super) enum RandomWrite {
    Apply { by: &'static str, spec: Value, force: bool },
    Update { by: &'static str, spec: Value },
}

pub(super) fn schema() -> impl Strategy<Value = TestSchema> {
    let leaf = prop_oneof![
        3 => Just(TestSchema::default()),
        1 => Just(TestSchema { set: true, ..TestSchema::default() }),
        1 => Just(TestSchema { atomic: true, ..TestSchema::default() }),
    ];
    let any = leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            (btree_map(prop::sample::select(&NAMES), inner.clone(), 1..4), any::<bool>(), 0..4_u8).prop_map(
                |(fields, always, atomic)| TestSchema {
                    fields,
                    always,
                    atomic: atomic == 0,
                    ..TestSchema::default()
                }
            ),
            (inner.clone(), inner, 0..3_usize).prop_map(|(one, other, keys)| {
                let protocol = TestSchema { default: Some(json!("x")), ..TestSchema::default() };
                let item = fields([("a", TestSchema::default()), ("b", protocol), ("c", one), ("d", other)]);
                let keys = ["a", "b"][..keys].to_vec();
                TestSchema { keys, items: Some(Box::new(item)), ..TestSchema::default() }
            }),
        ]
    });
    btree_map(prop::sample::select(&NAMES), any, 1..4)
        .prop_map(|named| fields([("spec", TestSchema { fields: named, ..TestSchema::default() })]))
}

/// A value as the schema has it. No map or list in it is empty: Kubernetes makes null of one of
/// which its applier had parts.
pub(super) fn value(schema: &TestSchema) -> BoxedStrategy<Value> {
    let plain = (0..3_u8).prop_map(Value::from);
    if schema.set {
        return btree_set("[a-c]", 1..4).prop_map(|items| json!(items)).boxed();
    }
    if let Some(item) = &schema.items {
        let rest = [("c", &item.fields["c"]), ("d", &item.fields["d"])].map(|(name, of)| {
            prop::option::weighted(0.6, value(of)).prop_map(move |value| value.map(|value| (name, value)))
        });
        let keys = schema.keys.len();
        return btree_map((0..3_u8, "[x-y]"), rest, 1..4)
            .prop_map(move |items| {
                let mut items: Vec<_> = items.into_iter().collect();
                items.dedup_by_key(|((a, b), _)| (*a, (keys != 1).then(|| b.clone())));
                items.into_iter().map(|((a, b), rest)| keyed(a, &b, rest)).collect()
            })
            .boxed();
    }
    if !schema.fields.is_empty() {
        let named = Union::new(
            schema
                .fields
                .iter()
                .map(|(&name, field)| value(field).prop_map(move |value| (name.to_owned(), value)).boxed()),
        );
        let unknown = ("u", unknown());
        return vec(prop_oneof![8 => named, 1 => unknown], 1..5)
            .prop_map(|fields| Value::Object(fields.into_iter().collect()))
            .boxed();
    }
    if schema.atomic {
        return btree_map("[a-b]", plain, 1..3).prop_map(|map| json!(map)).boxed();
    }
    plain.boxed()
}

/// An item with two keys; the second is omitted where it has its default.
fn keyed(a: u8, b: &str, rest: [Option<(&str, Value)>; 2]) -> Value {
    let mut item = Map::from_iter([("a".to_owned(), json!(a))]);
    item.extend((b != "x").then(|| ("b".to_owned(), json!(b))));
    item.extend(rest.into_iter().flatten().map(|(name, value)| (name.to_owned(), value)));
    item.into()
}

fn unknown() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![(0..2_u8).prop_map(Value::from), vec(0..2_u8, 1..3).prop_map(|list| json!(list))];
    leaf.prop_recursive(2, 6, 2, |inner| btree_map("[a-b]", inner, 1..3).prop_map(|map| json!(map)))
}

pub(super) fn history() -> impl Strategy<Value = (TestSchema, Vec<RandomWrite>)> {
    schema().prop_flat_map(|schema| {
        let spec = value(&schema.fields["spec"]);
        let by = prop::sample::select(&["one", "two", "three"]);
        let step = (by, spec, any::<bool>(), 0..4_u8).prop_map(|(by, spec, force, kind)| match kind {
            0 => RandomWrite::Update { by, spec },
            _ => RandomWrite::Apply { by, spec, force },
        });
        (Just(schema), vec(step, 1..7))
    })
}

/// A random part of the fields of a value; the keys of items stay.
pub(super) fn part(
    value: &Value,
    schema: &dyn ListMeta,
    keys: &[&str],
    coins: &mut impl FnMut() -> bool,
) -> Value {
    let some = |value: &Value| !matches!(value.to_string().as_str(), "{}" | "[]");
    match value {
        Value::Object(fields) if !schema.atomic_map() => {
            let mut kept = fields.clone();
            kept.retain(|name, _| keys.contains(&name.as_str()) || coins());
            for (name, value) in &mut kept {
                *value = part(value, field_of(schema, name), &[], coins);
            }
            kept.retain(|_, value| some(value));
            Value::Object(kept)
        }
        Value::Array(items) if schema.list_type() != ListType::Atomic => {
            let keys = match schema.list_type() {
                ListType::Map(keys) => keys,
                ListType::Set | ListType::Atomic => vec![],
            };
            let mut kept = items.clone();
            kept.retain(|_| coins());
            kept.iter().map(|item| part(item, items_of(schema), &keys, coins)).filter(some).collect()
        }
        whole => whole.clone(),
    }
}
