//! Properties shared by fuzz targets and tests, over arbitrary bytes.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{Bindings, Budget, DeclaredType, Env, Type, limits};

/// Maximum excess over the cost limit: the call that exceeds it completes.
const LAST_CALL: u64 = 20 * limits::REQUEST_BYTES;

/// Checks an expression: the first line is a JSON value, the rest an expression over it as `self`
/// and `oldSelf`. Errors have positions in the text; a run stays in its budget and is
/// deterministic.
///
/// # Panics
///
/// If a property does not hold.
pub fn expressions(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (value, text) = text.split_once('\n').unwrap_or(("", &text));
    let value = serde_json::from_str(value).unwrap_or(Value::Null);
    for declared in [DeclaredType::any(), typed()] {
        let declared = Arc::new(declared);
        let env = Env::new().with("self", declared.clone()).with_optional("oldSelf", declared);
        let program = match env.compile(text) {
            Ok(program) => program,
            Err(errors) => {
                assert!(!errors.errors().is_empty(), "a refusal says why: {text:?}");
                assert!(errors.errors().len() <= limits::MAX_ERRORS + 1, "{errors}");
                continue;
            }
        };
        assert!(program.estimate().min <= program.estimate().max, "{:?}", program.estimate());
        let run = || {
            let mut budget = Budget::object();
            let bindings = Bindings::new().with("self", &value);
            let outcome = program.run(&bindings, &mut budget).map(|it| format!("{it:?}"));
            let cost = budget.last();
            assert!(cost <= limits::RUN_COST + LAST_CALL, "{cost} for {text:?}");
            (outcome.map_err(|error| error.to_string()), cost)
        };
        assert_eq!(run(), run(), "{text:?}");
        if *program.result_type() == Type::Bool {
            let says = run().0;
            assert!(!matches!(&says, Ok(said) if said != "Bool(true)" && said != "Bool(false)"), "{says:?}");
        }
    }
}

fn typed() -> DeclaredType {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "array", "items": {"type": "integer"}},
        "n": {"type": "integer"},
        "s": {"type": "string", "maxLength": 64},
        "m": {"type": "object", "additionalProperties": {"type": "string"}},
        "o": {"type": "object", "properties": {"b": {"type": "boolean"}, "d": {"type": "string", "format": "duration"}}},
        "k": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
              "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "number"}}}},
        "x": {"x-kubernetes-int-or-string": true},
    }});
    DeclaredType::from_schema(&schema, true, "Thing").expect("it has a type")
}
