//! What kinds of values are called.

use serde_json::Value;

/// As Go calls it in an error: numbers that are not whole with what they are.
pub(crate) fn type_name(value: &Value) -> String {
    match value {
        Value::Number(number) if number.is_f64() => format!("number {number}"),
        _ => plain_type_name(value).into(),
    }
}

/// The same, of a number without saying which.
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
