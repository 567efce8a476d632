//! Fields that Go writes although they are not set: structs that are not pointers, and fields
//! without `omitempty`.

use serde_json::{Map, Value, json};

use crate::builtin::{Base, Cardinality, MessageField, Omit, Type, table};

/// Adds the unset fields that Go would write. Metadata is left out, since it has forms of its own.
pub(super) fn fill(of: &Type, object: &mut Value) {
    let Some(object) = object.as_object_mut() else { return };
    // `apiVersion` and `kind` have no number.
    for field in of.fields.iter().filter(|field| field.number > 0 && field.name != "metadata") {
        if field.pointer {
            continue;
        }
        match field.base {
            Base::Message(_) if field.name.is_empty() || field.shape != Cardinality::One => {}
            Base::Message(index) => {
                if let Some(value) = present(object, field) {
                    fill(table().get(index), value);
                }
            }
            _ => drop(present(object, field)),
        }
    }
}

/// Returns the value of a field, which becomes the zero value if Go writes it. Null stays.
fn present<'o>(object: &'o mut Map<String, Value>, field: &MessageField) -> Option<&'o mut Value> {
    let zero = match (field.shape, field.base, field.omit) {
        (_, _, Omit::Zero) => None,
        (Cardinality::One, Base::Time | Base::MicroTime, _) => Some(Value::Null),
        (Cardinality::One, Base::Message(_), _) => Some(json!({})),
        (_, _, Omit::Empty) => None,
        (Cardinality::One, Base::String, Omit::Never) => Some("".into()),
        (Cardinality::One, Base::Bool, Omit::Never) => Some(false.into()),
        (Cardinality::One, Base::Int32 | Base::Int64, Omit::Never) => Some(0.into()),
        (_, _, Omit::Never) => Some(Value::Null),
    };
    if let Some(zero) = zero {
        object.entry(field.name.clone()).or_insert(zero);
    }
    object.get_mut(&field.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from the Go types of both groups.
    #[test]
    fn events_have_the_fields_that_go_writes() {
        let check = |api_version: &str, mut event: Value, expected: Value| {
            fill(table().kind_of(api_version, "Event").expect("it is built in"), &mut event);
            assert_eq!(event, expected);
        };
        check(
            "v1",
            json!({"metadata": {"name": "a"}, "series": {"count": 2}}),
            json!({
                "metadata": {"name": "a"}, "series": {"count": 2}, "involvedObject": {}, "source": {},
                "firstTimestamp": null, "lastTimestamp": null, "eventTime": null,
                "reportingComponent": "", "reportingInstance": "",
            }),
        );
        check(
            "events.k8s.io/v1",
            json!({"metadata": {"name": "a"}, "regarding": {"name": "p"}}),
            json!({
                "metadata": {"name": "a"}, "regarding": {"name": "p"}, "deprecatedSource": {},
                "deprecatedFirstTimestamp": null, "deprecatedLastTimestamp": null, "eventTime": null,
            }),
        );
    }
}
