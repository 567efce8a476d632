//! Names of JSON types.

use serde_json::Value;

/// Go's name of a value's type in errors; for a fraction with its value.
pub(crate) fn type_name(value: &Value) -> String {
    match value {
        Value::Number(number) if number.is_f64() => format!("number {number}"),
        _ => plain_type_name(value).into(),
    }
}

/// Go's name of a value's type, without a value.
pub(crate) const fn plain_type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
