//! Objects of built-in kinds without the fields that these have not, and without nulls.

use serde_json::Value;

use crate::builtin::{Base, Shape, Type, table};

/// Drops what a type does not know.
pub(crate) fn prune(of: &Type, value: &mut Value) {
    let Value::Object(fields) = value else { return };
    fields.retain(|name, value| {
        let Some(field) = table().field(of, name) else {
            return false;
        };
        let Base::Message(of) = field.base else { return !value.is_null() };
        let of = table().get(of);
        match (field.shape, &mut *value) {
            (Shape::One, value) => prune(of, value),
            (Shape::List, Value::Array(items)) => items.iter_mut().for_each(|item| prune(of, item)),
            (Shape::Map, Value::Object(values)) => values.values_mut().for_each(|value| prune(of, value)),
            _ => {}
        }
        !value.is_null()
    });
}
