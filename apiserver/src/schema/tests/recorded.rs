//! Compares answers to definitions and objects with those recorded from a real server, Kubernetes
//! 1.37.2. Where we differ on purpose the record has our answer, and the reason.

use super::*;

/// The causes of an answer: field, reason, message.
fn causes(errors: &[FieldError]) -> Value {
    let mut causes: Vec<_> = errors.iter().map(FieldError::cause).collect();
    causes.sort_by(|a, b| (&a.field, a.reason, &a.message).cmp(&(&b.field, b.reason, &b.message)));
    causes.iter().map(|cause| json!([cause.field, cause.reason, cause.message])).collect()
}

fn check(asked: &Value, errors: &[FieldError]) {
    let expected = asked.get("ours").unwrap_or(&asked["causes"]);
    assert_eq!(&causes(errors), expected, "{asked}");
    assert_eq!(asked.get("ours").is_some(), asked.get("why").is_some(), "{asked}");
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().expect("a list")
}

fn taken(schema: &Schema, spec: &Value) -> Value {
    let mut object = object(spec.clone());
    schema.prune(&mut object);
    schema.default(&mut object);
    object
}

#[test]
fn answers_equal_those_of_kubernetes() {
    let recorded: Value = serde_json::from_str(include_str!("recorded.json")).expect("JSON");
    for asked in list(&recorded, "definitions") {
        check(asked, &Schema::parse(&asked["schema"], AT).err().unwrap_or_default());
    }
    for case in list(&recorded, "objects") {
        let schema = Schema::parse(&case["schema"], AT).expect("a schema");
        for asked in list(case, "asked") {
            let unknown = asked.get("unknown").cloned().unwrap_or_else(|| json!([]));
            assert_eq!(json!(schema.unknown(&object(asked["spec"].clone()))), unknown, "{asked}");
            let taken = taken(&schema, &asked["spec"]);
            check(asked, &schema.validate(&taken, None));
            if let Some(result) = asked.get("result") {
                assert_eq!(&taken["spec"], result);
            }
        }
    }
    for case in list(&recorded, "updates") {
        let schema = Schema::parse(&case["schema"], AT).expect("a schema");
        let old = taken(&schema, &case["old"]);
        for asked in list(case, "asked") {
            check(asked, &schema.validate(&taken(&schema, &asked["spec"]), Some(&old)));
        }
    }
}
