//! Random objects of every built-in kind survive encoding and decoding, and encode to the same
//! bytes again.

use proptest::prelude::*;
use proptest::test_runner::TestRng;
use serde_json::{Map, Value, json};

use super::super::{ExpectedType, decode, encode};
use crate::builtin::{Base, Cardinality, Type, table};

const NOTHING: ExpectedType<'_> = ExpectedType { api_version: "", kind: "" };

/// Kinds that a table of types names for one group.
fn kinds() -> Vec<(String, String)> {
    let recorded: Value = serde_json::from_str(include_str!("../../builtin/types.json")).unwrap();
    let kinds = recorded["kinds"].as_object().unwrap().keys().filter(|kind| !kind.starts_with('*'));
    kinds
        .map(|kind| {
            let (api_version, kind) = kind.rsplit_once('/').unwrap();
            (api_version.to_owned(), kind.to_owned())
        })
        .collect()
}

/// An object of a type. No value is zero, so that none is left out; each is as Go prints it.
fn object(of: &Type, rng: &mut TestRng, depth: usize, into: &mut Map<String, Value>) {
    // Schemas contain each other in a dozen ways.
    let deepest = if of.short_name() == "JSONSchemaProps" { 5 } else { 7 };
    for field in of.by_number() {
        if let (true, Base::Message(inlined)) = (field.name.is_empty(), field.base) {
            object(table().get(inlined), rng, depth, into);
            continue;
        }
        if depth > deepest || rng.random_ratio(1, if depth < 3 { 3 } else { 2 }) {
            continue;
        }
        let many = 1 + rng.random_range(0..3);
        let value = match field.shape {
            Cardinality::One => single(field.base, rng, depth),
            Cardinality::List => (0..many).map(|_| single(field.base, rng, depth)).collect(),
            Cardinality::Map => {
                Value::Object((0..many).map(|_| (text(rng), single(field.base, rng, depth))).collect())
            }
        };
        into.insert(field.name.clone(), value);
    }
}

fn single(base: Base, rng: &mut TestRng, depth: usize) -> Value {
    match base {
        Base::String => text(rng).into(),
        Base::Bool => true.into(),
        Base::Int32 => (rng.random::<i32>() | 1).into(),
        Base::Int64 => (rng.random::<i64>() | 1).into(),
        Base::Bytes => ["AA==", "/w==", "AAEC", "YWJj"][rng.random_range(0..4)].into(),
        Base::Strings => json!([text(rng), text(rng)]),
        Base::Time => format!("20{}-11-21T09:30:38Z", rng.random_range(10..99)).into(),
        Base::MicroTime => format!("2026-11-21T09:30:38.{:06}Z", rng.random_range(0..1_000_000)).into(),
        Base::Quantity => format!("{}Mi", rng.random_range(1..1000)).into(),
        Base::IntOrString if rng.random() => rng.random_range(1..70_000).into(),
        Base::IntOrString => text(rng).into(),
        Base::RawExtension => json!({"kind": "Thing", "apiVersion": "v1", "n": rng.random_range(0..9)}),
        Base::FieldsV1 => json!({"f:spec": {"f:a": {}}}),
        Base::Double => (f64::from(rng.random::<i32>() | 1) / 4.0).into(),
        Base::Json => json!([rng.random_range(0..9), {"n": "x"}]),
        Base::SchemaOrBool(_) if rng.random() => true.into(),
        Base::SchemaOrArray(of) if rng.random() => {
            json!([single(Base::Message(of), rng, depth), single(Base::Message(of), rng, depth)])
        }
        Base::SchemaOrStrings(_) if rng.random() => json!([text(rng), text(rng)]),
        Base::SchemaOrBool(of) | Base::SchemaOrArray(of) | Base::SchemaOrStrings(of) => {
            single(Base::Message(of), rng, depth)
        }
        Base::Message(inner) => {
            let mut fields = Map::new();
            object(table().get(inner), rng, depth + 1, &mut fields);
            Value::Object(fields)
        }
    }
}

fn text(rng: &mut TestRng) -> String {
    let of = ["a", "Z", "0", "-", " ", "\n", "\"", "ä", "日", "\u{0}", "\u{1f600}"];
    (0..=rng.random_range(0..12)).map(|_| of[rng.random_range(0..of.len())]).collect()
}

/// Returns whether all encoded values were decoded, in order; an empty message may have gained zero
/// values.
fn is_in(said: &Value, found: &Value) -> bool {
    match (said, found) {
        (Value::Object(said), Value::Object(found)) => {
            said.iter().all(|(name, value)| found.get(name).is_some_and(|found| is_in(value, found)))
        }
        (Value::Array(said), Value::Array(found)) => {
            said.len() == found.len() && said.iter().zip(found).all(|(said, found)| is_in(said, found))
        }
        _ => said == found,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Each case is an object of every kind.
    #[test]
    fn encoded_objects_decode_to_the_same(mut rng in any::<()>().prop_perturb(|(), rng| rng)) {
        for (api_version, kind) in kinds() {
            let mut fields = Map::new();
            object(table().kind_of(&api_version, &kind).unwrap(), &mut rng, 0, &mut fields);
            fields.insert("apiVersion".into(), api_version.into());
            fields.insert("kind".into(), kind.clone().into());
            let said = Value::Object(fields);
            let bytes = encode(&said).unwrap();
            let found = decode(&bytes, NOTHING).unwrap();
            prop_assert!(is_in(&said, &found), "{said}\nis read as\n{found}");
            prop_assert!(encode(&found).unwrap() == bytes, "{said}\nis written otherwise the second time");
        }
    }
}
