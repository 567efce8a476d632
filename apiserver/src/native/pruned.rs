//! Normalization of built-in objects to the form that Go would write: without unknown fields and
//! nulls, and with canonical texts of times, quantities and bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::builtin::{Base, Cardinality, KubeTime, Precision, Type, decode_base64, quantity, table};

/// Drops fields that the type does not have, and normalizes the others to their stored form.
pub(crate) fn prune(of: &Type, value: &mut Value) {
    let Value::Object(fields) = value else { return };
    fields.retain(|name, value| {
        let Some(field) = table().field(of, name) else {
            return false;
        };
        match (field.shape, &mut *value) {
            (Cardinality::One, value) => single(field.base, value),
            (Cardinality::List, Value::Array(items)) => {
                items.iter_mut().for_each(|item| single(field.base, item))
            }
            (Cardinality::Map, Value::Object(values)) => {
                values.values_mut().for_each(|value| single(field.base, value));
            }
            _ => {}
        }
        !value.is_null()
    });
}

fn single(base: Base, value: &mut Value) {
    if let Base::Message(of) = base {
        return prune(table().get(of), value);
    }
    let Value::String(text) = &*value else {
        if let (Base::Quantity, Value::Number(_)) = (base, &*value) {
            *value = quantity::canonical(&quantity::text(value)).map_or(Value::Null, Value::from);
        }
        return;
    };
    let kept = match base {
        Base::Time => time(text, Precision::Seconds),
        Base::MicroTime => time(text, Precision::Micros),
        Base::Quantity => quantity::canonical(text.trim()).ok().map(Value::from),
        Base::Bytes => decode_base64(text).ok().map(|bytes| STANDARD.encode(bytes).into()),
        _ => None,
    };
    // Validation rejects unreadable values; one that exists nonetheless is kept.
    if let Some(kept) = kept {
        *value = kept;
    }
}

/// Normalizes a time; the zero time is null.
fn time(text: &str, precision: Precision) -> Option<Value> {
    let mut moment = KubeTime::parse(text, precision).ok()?;
    if precision == Precision::Seconds {
        moment.nanos = 0;
    }
    if moment == KubeTime::NONE {
        return Some(Value::Null);
    }
    moment.format(precision).map(Value::from)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(api_version: &str, kind: &str, mut object: Value, expected: &Value) {
        let of = table().kind_of(api_version, kind).expect("it is built in");
        prune(of, &mut object);
        assert_eq!(object, *expected);
        prune(of, &mut object);
        assert_eq!(object, *expected, "twice is once");
    }

    #[test]
    fn each_value_has_one_text() {
        let event = json!({
            "metadata": {"name": "a", "creationTimestamp": null}, "color": "red",
            "eventTime": "2026-11-21T09:30:38.941890+00:00", "firstTimestamp": "2026-11-21T10:30:38.9+01:00",
        });
        let kept = json!({
            "metadata": {"name": "a"},
            "eventTime": "2026-11-21T09:30:38.941890Z", "firstTimestamp": "2026-11-21T09:30:38Z",
        });
        check("v1", "Event", event, &kept);
        let none = json!({"firstTimestamp": "0001-01-01T00:00:00Z"});
        check("v1", "Event", none, &json!({}));
        check(
            "v1",
            "Secret",
            json!({"data": {"a": "YQ\n==", "b": "YR=="}}),
            &json!({"data": {"a": "YQ==", "b": "YQ=="}}),
        );
        let node = json!({"status": {"capacity": {"cpu": "1000m", "memory": 1024, "pods": "1Ki"}}});
        check(
            "v1",
            "Node",
            node,
            &json!({"status": {"capacity": {"cpu": "1", "memory": "1024", "pods": "1Ki"}}}),
        );
    }

    #[test]
    fn unreadable_values_are_kept() {
        check("v1", "Event", json!({"eventTime": "noon"}), &json!({"eventTime": "noon"}));
    }
}
