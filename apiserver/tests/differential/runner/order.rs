//! Kubernetes reports errors of several fields in the order of a hash map, so they are compared in
//! a fixed order; and so are the entries of managedFields, which are ordered by time.

use serde_json::Value;

/// Sorts the causes of a refusal, and their texts in its message.
pub(crate) fn put(body: &mut Value) {
    let Some(causes) = body.pointer_mut("/details/causes").and_then(Value::as_array_mut) else { return };
    causes.sort_by_key(|cause| (said(cause), cause.to_string()));
    let mut parts: Vec<_> = causes.iter().map(said).collect();
    parts.dedup();
    let sorted = parts.join(", ");
    let Some(Value::String(message)) = body.get_mut("message") else { return };
    let Some((start, listed)) = message.split_once(" is invalid: [") else { return };
    // The same parts in another order have the same length. If the parts differ, the message is
    // left unchanged.
    if listed.len() == sorted.len() + 1 && parts.iter().all(|part| listed.contains(part)) {
        *message = format!("{start} is invalid: [{sorted}]");
    }
}

/// Sorts the entries of managedFields independently of the seconds of the writes.
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
