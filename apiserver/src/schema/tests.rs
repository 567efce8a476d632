mod declared;
mod fields;
mod properties;
mod ratchet;
mod recorded;
mod values;

use serde_json::{Value, json};

use super::Schema;
use crate::invalid::FieldError;

const AT: &str = "spec.validation.openAPIV3Schema";

/// Returns a schema of objects with this spec.
fn of_spec(spec: Value) -> Schema {
    let json = json!({ "type": "object", "properties": { "spec": spec, "status": { "type": "object" } } });
    Schema::parse(&json, AT).unwrap_or_else(|errors| panic!("{:#?}", texts(&errors)))
}

/// Returns a schema of objects with these properties of the spec.
fn of(properties: Value) -> Schema {
    of_spec(json!({ "type": "object", "properties": properties }))
}

fn object(spec: Value) -> Value {
    json!({ "apiVersion": "example.com/v1", "kind": "Thing", "metadata": { "name": "a" }, "spec": spec })
}

fn texts(errors: &[FieldError]) -> Vec<String> {
    errors.iter().map(FieldError::to_string).collect()
}
