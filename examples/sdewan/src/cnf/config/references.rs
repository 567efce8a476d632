//! References between objects.

use serde_json::{Map, Value};

use super::CnfConfig;
use crate::model::{CollectionId, Field, Reference, Shape};

/// Returns whether an object of a configuration refers to an object.
#[must_use]
pub fn is_used(config: &CnfConfig, target: CollectionId, name: &str) -> bool {
    let users = target.users();
    let mut objects = users.iter().flat_map(|user| config.list(*user).iter().map(|object| (*user, object)));
    objects.any(|(user, object)| refers(user.fields(), &object.fields, target, name))
}

fn refers(fields: &[Field], object: &Map<String, Value>, target: CollectionId, name: &str) -> bool {
    fields.iter().any(|field| {
        let Some(value) = field.rest_name().and_then(|rest| object.get(rest)) else { return false };
        match (field.shape, value) {
            (Shape::Objects(fields), Value::Array(items)) => {
                let mut objects = items.iter().filter_map(Value::as_object);
                objects.any(|object| refers(fields, object, target, name))
            }
            _ if field.reference != Some(Reference::Object(target)) => false,
            (_, Value::Array(items)) => items.iter().any(|item| item == name),
            (_, value) => value == name,
        }
    })
}
