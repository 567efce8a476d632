//! Evaluation of rules. Refusals and their wording are tested by recorded cases:
//! `tests/differential/cases/expressions.yaml`.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::schema::Schema;

fn schema(spec: Value) -> Schema {
    let root = json!({"type": "object", "properties": {"spec": spec}});
    Schema::parse(&root, "s").unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn broken(schema: &Schema, spec: &Value, old: Option<&Value>) -> (Vec<String>, Vec<String>) {
    let object = |spec: &Value| json!({"metadata": {"name": "a"}, "spec": spec});
    let old = old.map(object);
    let (errors, tolerated) = schema.broken_rules(&object(spec), old.as_ref(), &[]);
    let told = |errors: Vec<crate::invalid::FieldError>| errors.iter().map(ToString::to_string).collect();
    (told(errors), told(tolerated))
}

#[test]
fn without_rules_nothing_is_evaluated() {
    let schema = schema(json!({"type": "object", "properties": {"x": {"type": "integer"}}}));
    assert!(!schema.has_rules);
    assert_eq!(broken(&schema, &json!({"x": 1}), None), (Vec::new(), Vec::new()));
}

#[test]
fn unchanged_violations_are_tolerated_unless_the_rule_uses_old_self() {
    let schema = schema(json!({
        "type": "object",
        "properties": {"x": {
            "type": "integer",
            "x-kubernetes-validations": [
                {"rule": "self < 5", "message": "less"}, {"rule": "self != oldSelf", "message": "other"},
            ],
        }},
    }));
    let (nine, seven) = (json!({"x": 9}), json!({"x": 7}));
    let less = |x: u64| vec![format!("spec.x: Invalid value: {x}: less")];
    assert_eq!(broken(&schema, &nine, None), (less(9), Vec::new()));
    assert_eq!(broken(&schema, &seven, Some(&nine)), (less(7), Vec::new()));
    assert_eq!(
        broken(&schema, &nine, Some(&nine)),
        (vec!["spec.x: Invalid value: 9: other".into()], less(9))
    );
}

#[test]
fn a_rule_over_its_cost_budget_is_stopped_and_reported() {
    // A bound that is a lie of the schema's: the estimate believes it.
    let schema = schema(json!({
        "type": "object",
        "properties": {"l": {
            "type": "array", "maxItems": 10, "items": {"type": "integer"},
            "x-kubernetes-validations": [{"rule": "self.all(a, self.all(b, self.all(c, a + b + c >= 0)))"}],
        }},
    }));
    let many: Vec<u64> = (0..2000).collect();
    let (errors, _) = broken(&schema, &json!({"l": many}), None);
    let said = "spec.l: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further validation rules will be \
                run due to call cost exceeds limit for rule: self.all(a, self.all(b, self.all(c, a + b + c >= 0)))";
    assert_eq!(errors, [said]);
}

#[test]
fn all_rules_together_have_a_budget() {
    let rules: Vec<_> =
        (0..40).map(|i| json!({"rule": format!("self.all(a, self.all(b, a + b >= {i} - 100))")})).collect();
    let schema = schema(json!({
        "type": "object",
        "properties": {"l": {
            "type": "array", "maxItems": 10, "items": {"type": "integer"}, "x-kubernetes-validations": rules,
        }},
    }));
    let many: Vec<u64> = (0..300).collect();
    let (errors, _) = broken(&schema, &json!({"l": many}), None);
    let said = "spec.l: Invalid value: \"array\": validation failed due to running out of cost budget, no further validation rules will \
                be run";
    assert_eq!(errors, [said]);
}

proptest! {
    /// The schema's own walk finds the same violations as a naive walk over the object.
    #[test]
    fn every_value_is_validated_by_its_rule(
        numbers in prop::collection::vec(0_i64..10, 0..6),
        entries in prop::collection::btree_map("[a-c]", 0_i64..10, 0..3),
    ) {
        let rule = json!([{"rule": "self < 5", "message": "less"}]);
        let number = json!({"type": "integer", "x-kubernetes-validations": rule});
        let schema = schema(json!({"type": "object", "properties": {
            "list": {"type": "array", "items": number}, "map": {"type": "object", "additionalProperties": number},
        }}));
        let (errors, _) = broken(&schema, &json!({"list": numbers, "map": entries}), None);
        let in_list = numbers.iter().enumerate().filter(|(_, x)| **x >= 5);
        let in_list = in_list.map(|(i, x)| format!("spec.list[{i}]: Invalid value: {x}: less"));
        let in_map = entries.iter().filter(|(_, x)| **x >= 5);
        let in_map = in_map.map(|(name, x)| format!("spec.map[{name}]: Invalid value: {x}: less"));
        prop_assert_eq!(errors, in_list.chain(in_map).collect::<Vec<_>>());
    }
}
