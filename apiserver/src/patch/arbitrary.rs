//! Random documents for property tests, with few field names, so that two have fields in common.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Value, json};

pub(crate) fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..3).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map("[a-c~/]{0,2}", inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

pub(crate) fn object() -> impl Strategy<Value = Value> {
    btree_map("[a-c~/]{0,2}", value(), 0..5).prop_map(|map| json!(map))
}
