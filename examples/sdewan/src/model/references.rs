//! The references of REST objects to others.

use serde_json::{Map, Value};

use super::collection::CollectionId;
use super::field::{Field, Reference, Shape};
use super::rest_object::RestObject;

/// Returns the objects to which an object refers, by collection and name.
#[must_use]
pub fn references(object: &RestObject) -> Vec<(CollectionId, String)> {
    let mut found = Vec::new();
    collect(object.fields(), object.collection().fields(), &mut found);
    found.sort_unstable();
    found.dedup();
    found
}

/// The policies that mwan3 has without a section.
const BUILT_IN_POLICIES: &[&str] = &["default", "unreachable", "blackhole"];

fn collect(values: &Map<String, Value>, fields: &[Field], found: &mut Vec<(CollectionId, String)>) {
    for field in fields {
        let Some(value) = field.rest_name().and_then(|name| values.get(name)) else { continue };
        if let Shape::Objects(inner) = field.shape {
            for item in value.as_array().into_iter().flatten().filter_map(Value::as_object) {
                collect(item, inner, found);
            }
        }
        let Some(Reference::Object(target)) = field.reference else { continue };
        let texts = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for name in texts.iter().filter_map(Value::as_str).filter(|name| !is_built_in(target, name)) {
            found.push((target, name.to_owned()));
        }
    }
}

/// Returns whether a name needs no object: `*` is every zone, and mwan3 has policies of its own.
#[must_use]
pub fn is_built_in(collection: CollectionId, name: &str) -> bool {
    match collection {
        CollectionId::Policies => BUILT_IN_POLICIES.contains(&name),
        _ => name == "*",
    }
}
