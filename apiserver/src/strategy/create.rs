//! The strategy of creations.

use serde_json::Value;

use super::trace::set_aside;
use super::{Context, meta_text, metadata_mut};
use crate::invalid::{FieldError, invalid};
use crate::kind::Subresource;
use crate::meta::names::generate_name;
use crate::meta::{Creation, for_create};
use crate::refusal::Refusal;

/// The inputs of one try of a create.
#[derive(Clone, Copy)]
pub(crate) struct New<'a> {
    pub(crate) uid: &'a str,
    /// Randomness for the suffix of a generated name.
    pub(crate) chance: u64,
}

/// Returns a new object with its final namespace and name, for admission. Errors are reported
/// later, by [`create`].
pub(crate) fn named(mut object: Value, new: New<'_>, context: &Context<'_>) -> Value {
    object = placed(object, context);
    let meta = metadata_mut(&mut object);
    let generate = meta.get("generateName").and_then(Value::as_str).unwrap_or_default();
    if meta.get("name").and_then(Value::as_str).unwrap_or_default().is_empty() && !generate.is_empty() {
        let name = generate_name(generate, new.chance);
        meta.insert("name".into(), name.into());
    }
    object
}

/// Returns an object with the namespace of the path, if it has none, and without one if its kind is
/// cluster-scoped.
pub(crate) fn placed(mut object: Value, context: &Context<'_>) -> Value {
    let metadata = metadata_mut(&mut object);
    match context.namespace {
        Some(namespace) => {
            metadata.entry("namespace").or_insert_with(|| namespace.into());
        }
        None => {
            metadata.remove("namespace");
        }
    }
    object
}

/// Returns the stored form of a new object, which has the shape of its kind already.
pub(crate) fn create(mut object: Value, new: New<'_>, context: &Context<'_>) -> Result<Value, Refusal> {
    let kind = context.kind;
    let mut errors = prepare(&mut object, new, context)?;
    errors.extend(kind.validate(&object, None, Subresource::Main).errors);
    errors.extend(kind.hooks.validate(&object, None));
    // Typed hooks see only objects that the schema accepts, as rules do in Kubernetes.
    if errors.is_empty() {
        errors = kind.hooks.check(&object, None);
    }
    if !errors.is_empty() {
        kind.hide_in_errors(&object, None, &mut errors);
        return Err(invalid(&kind.group, &kind.names.kind, meta_text(&object, "name"), &errors));
    }
    kind.through_store(&mut object);
    let mark = set_aside(&mut object, None, context.trace);
    context.record(None, &mut object, None)?;
    mark.put(&mut object);
    Ok(object)
}

/// Returns the managedFields entry of the creator, before mutating admission. Errors are reported
/// later.
pub(crate) fn first_entries(
    mut object: Value,
    new: New<'_>,
    context: &Context<'_>,
) -> Result<Option<Value>, Refusal> {
    prepare(&mut object, new, context)?;
    context.kind.through_store(&mut object);
    context.track(None, &mut object, None);
    Ok(metadata_mut(&mut object).remove("managedFields"))
}

/// Prepares the object for storage, and returns the errors of its metadata.
fn prepare(object: &mut Value, new: New<'_>, context: &Context<'_>) -> Result<Vec<FieldError>, Refusal> {
    let kind = context.kind;
    if kind.has_status
        && !kind.is_created_with_status()
        && let Some(object) = object.as_object_mut()
    {
        object.remove("status");
    }
    let creation = Creation {
        namespace: context.namespace,
        names: kind.name_rule,
        generations: kind.has_generation,
        now: context.now,
        uid: new.uid,
        chance: new.chance,
    };
    let errors = for_create(metadata_mut(object), &creation)?;
    kind.hooks.creating(object);
    kind.hooks.stamp(object, None, context.now);
    Ok(errors)
}
