//! Sets of field paths: decoding, encoding and set operations.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::managed::{FieldSet, Literal, PathElement};

#[test]
fn sets_are_read_as_leniently_as_kubernetes_does() {
    let read = |json: Value| FieldSet::from_json(&json).unwrap().to_json();
    assert_eq!(read(json!({"f:a": null, "x:y": {"f:b": {}}})), json!({"f:a": {}}));
    assert_eq!(read(json!({"f:a": {"x:y": {}}})), json!({"f:a": {}}));
    assert_eq!(read(json!({".": {}, "f:a": {".": {}}})), json!({"f:a": {}}));
    assert_eq!(read(json!(null)), json!({}));
    for malformed in [json!([]), json!("a"), json!({"a": {}}), json!({"f:a": []}), json!({"i:x": {}})] {
        assert!(FieldSet::from_json(&malformed).is_err(), "{malformed}");
    }
}

fn element() -> impl Strategy<Value = PathElement> {
    let literal = || {
        prop_oneof![
            "[a-b<\"]{0,2}".prop_map(Value::from),
            (-2_i64..2).prop_map(Value::from),
            (-2_i64..2).prop_map(|number| Value::from(number as f64 / 2.0)),
            any::<bool>().prop_map(Value::from),
        ]
        .prop_map(Literal::new)
    };
    prop_oneof![
        4 => "[a-c.]{0,2}".prop_map(PathElement::Field),
        1 => prop::collection::btree_map("[a-b]", literal(), 1..3)
            .prop_map(|key| PathElement::Key(key.into_iter().collect())),
        1 => literal().prop_map(PathElement::Value),
        1 => (0_i64..3).prop_map(PathElement::Index),
    ]
}

fn paths() -> impl Strategy<Value = Vec<Vec<PathElement>>> {
    prop::collection::vec(prop::collection::vec(element(), 1..4), 0..8)
}

fn set_of(paths: &[Vec<PathElement>]) -> FieldSet {
    let mut set = FieldSet::default();
    for path in paths {
        set.insert(path);
    }
    set
}

proptest! {
    #[test]
    fn sets_survive_being_written(paths in paths()) {
        let set = set_of(&paths);
        prop_assert_eq!(FieldSet::from_json(&set.to_json()), Ok(set));
    }

    #[test]
    fn any_json_decodes_to_a_set_or_an_error(value in crate::patch::arbitrary::value(), text in ".{0,4}") {
        if let Ok(set) = FieldSet::from_json(&value) {
            prop_assert_eq!(FieldSet::from_json(&set.to_json()), Ok(set));
        }
        let _ = PathElement::parse(&text);
    }

    #[test]
    fn set_operations_equal_those_of_a_naive_set(left in paths(), right in paths()) {
        let (a, b) = (set_of(&left), set_of(&right));
        let (union, both, less) = (a.clone().union(b.clone()), a.intersection(&b), a.clone().difference(&b));
        for path in left.iter().chain(&right) {
            let (in_a, in_b) = (a.contains(path), b.contains(path));
            prop_assert!(in_a == left.contains(path) && in_b == right.contains(path));
            prop_assert!(union.contains(path));
            prop_assert_eq!(both.contains(path), in_a && in_b);
            prop_assert_eq!(less.contains(path), in_a && !in_b);
        }
        prop_assert_eq!(&union, &b.clone().union(a.clone()));
        prop_assert_eq!(&both, &b.intersection(&a));
        prop_assert_eq!(less.union(both.clone()), a.clone());
        prop_assert!(a.clone().difference(&a).is_empty());
        prop_assert_eq!(union.is_empty(), left.is_empty() && right.is_empty());
    }
}
