//! Equality of values in the operation `test`.

use serde_json::{Number, Value};

/// RFC 6902, section 4.6: numbers by value, everything else literally.
pub(super) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => same_number(left, right),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let same = |((left_name, left), (right_name, right)): ((&String, _), (&String, _))| {
                left_name == right_name && equal(left, right)
            };
            left.len() == right.len() && left.iter().zip(right).all(same)
        }
        _ => left == right,
    }
}

fn same_number(left: &Number, right: &Number) -> bool {
    left == right || ((left.is_f64() || right.is_f64()) && left.as_f64() == right.as_f64())
}
