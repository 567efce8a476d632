//! What is wrong with several fields is said by Kubernetes in the order of a hash map, so it is
//! compared in an order of ours; so are the entries of managers, whose order is that of their
//! times.

use serde_json::Value;

/// Puts the causes of a refusal in order, and what its message says of them.
pub(crate) fn put(body: &mut Value) {
    let Some(causes) = body.pointer_mut("/details/causes").and_then(Value::as_array_mut) else { return };
    causes.sort_by_key(|cause| (said(cause), cause.to_string()));
    let mut parts: Vec<_> = causes.iter().map(said).collect();
    parts.dedup();
    let sorted = parts.join(", ");
    let Some(Value::String(message)) = body.get_mut("message") else { return };
    let Some((start, listed)) = message.split_once(" is invalid: [") else { return };
    // The same parts in another order are as long. If they are not the same, the message stays what it is.
    if listed.len() == sorted.len() + 1 && parts.iter().all(|part| listed.contains(part)) {
        *message = format!("{start} is invalid: [{sorted}]");
    }
}

/// Puts the entries of who manages what in an order that does not hang on the second in which each
/// came.
pub(crate) fn put_entries(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(entries) = fields.get_mut("managedFields").and_then(Value::as_array_mut) {
                entries.sort_by_key(|entry| {
                    ["manager", "operation", "subresource", "apiVersion"].map(|name| entry[name].to_string())
                });
            }
            fields.values_mut().for_each(put_entries);
        }
        Value::Array(items) => items.iter_mut().for_each(put_entries),
        _ => {}
    }
}

fn said(cause: &Value) -> String {
    let text = |key: &str| cause[key].as_str().unwrap_or_default();
    format!("{}: {}", text("field"), text("message"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(message: &str, expected: &str) {
        let cause = |field: &str| json!({"field": field, "message": "no"});
        let mut body =
            json!({"message": message, "details": {"causes": [cause("b"), cause("a"), cause("a")]}});
        put(&mut body);
        let causes = json!([cause("a"), cause("a"), cause("b")]);
        assert_eq!(body, json!({"message": expected, "details": {"causes": causes}}));
    }

    #[test]
    fn causes_are_in_order_and_so_is_the_message() {
        check("x is invalid: [b: no, a: no]", "x is invalid: [a: no, b: no]");
        check("x is invalid: [b: no, c: no]", "x is invalid: [b: no, c: no]");
        check("another text", "another text");
    }
}
