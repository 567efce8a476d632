//! The strategy of updates.

use serde_json::Value;

use super::trace::set_aside;
use super::{
    Context, MODIFIED, Step, conflict, has_finalizers, is_deleting, meta_text, metadata, metadata_mut, same,
    spec_differs,
};
use crate::invalid::{FieldError, invalid};
use crate::kind::{Checked, Kind, Subresource};
use crate::meta::{Update, for_update};
use crate::refusal::Refusal;
use crate::request::parse_revision;

/// Returns the next step of a full or subresource update, with warnings. `new` has the shape of its
/// kind. The UID of a full update is a precondition; in a patch it is a field like others.
pub(crate) fn update(
    mut new: Value,
    old: &Value,
    subresource: Subresource,
    whole: bool,
    context: &Context<'_>,
) -> Result<(Step, Vec<String>), Refusal> {
    let kind = context.kind;
    let name = meta_text(old, "name");
    let names_this =
        |field| matches!(meta_text(&new, field), text if text.is_empty() || text == meta_text(old, field));
    if names_this("name") && (!kind.namespaced || names_this("namespace")) {
        check_preconditions(&new, old, whole, context)?;
    }
    let mut errors = prepare(&mut new, old, subresource, context)?;
    let Checked { errors: found, warnings } = kind.validate(&new, Some(old), subresource);
    errors.extend(found);
    errors.extend(kind.hooks.validate(&new, Some(old)));
    if errors.is_empty() {
        errors = kind.hooks.check(&new, Some(old));
    }
    if !errors.is_empty() {
        kind.hide_in_errors(&new, Some(old), &mut errors);
        return Err(invalid(&kind.group, &kind.names.kind, name, &errors).warning(&warnings));
    }
    kind.through_store(&mut new);
    if kind.has_generation
        && matches!(subresource, Subresource::Main | Subresource::Scale)
        && spec_differs(kind, &new, old)
    {
        let generation = metadata(old).get("generation").and_then(Value::as_i64).unwrap_or(0);
        metadata_mut(&mut new).insert("generation".into(), (generation + 1).into());
    }
    let mark = set_aside(&mut new, Some(old), context.trace);
    context.record(Some(old), &mut new, subresource.name())?;
    if is_deleting(&new) && !has_finalizers(&new) && !kind.hooks.holds(&new) {
        return Ok((Step::Delete(new), warnings));
    }
    if same(&new, old) {
        return Ok((Step::Keep, warnings));
    }
    mark.put(&mut new);
    Ok((Step::Put(new), warnings))
}

/// Returns the managedFields after this write, before mutating admission. Errors are reported
/// later.
pub(crate) fn entries(
    mut new: Value,
    old: &Value,
    subresource: Subresource,
    context: &Context<'_>,
) -> Result<Option<Value>, Refusal> {
    // Whether it is the newest is judged when it is written.
    metadata_mut(&mut new).insert("resourceVersion".into(), meta_text(old, "resourceVersion").into());
    prepare(&mut new, old, subresource, context)?;
    context.kind.through_store(&mut new);
    context.track(Some(old), &mut new, subresource.name());
    Ok(metadata_mut(&mut new).remove("managedFields"))
}

/// Prepares the object for storage, and returns the errors of its metadata.
fn prepare(
    new: &mut Value,
    old: &Value,
    subresource: Subresource,
    context: &Context<'_>,
) -> Result<Vec<FieldError>, Refusal> {
    let kind = context.kind;
    only(new, old, subresource, kind);
    let how = Update {
        group: &kind.group,
        plural: &kind.names.plural,
        namespace: context.namespace,
        name: meta_text(old, "name"),
        unconditional: kind.allows_unconditional_update,
    };
    let errors = for_update(metadata_mut(new), metadata(old), &how)?;
    kind.hooks.updating(new, old, subresource);
    kind.hooks.stamp(new, Some(old), context.now);
    Ok(errors)
}

/// Checks the preconditions: the revision and the UID in the request.
fn check_preconditions(new: &Value, old: &Value, whole: bool, context: &Context<'_>) -> Result<(), Refusal> {
    let (kind, name) = (context.kind, meta_text(old, "name"));
    match meta_text(new, "resourceVersion") {
        // A missing resourceVersion is reported with all other errors.
        "" | "0" => {}
        version if version == meta_text(old, "resourceVersion") => {}
        version => {
            parse_revision(version)?;
            return Err(conflict(kind, name, MODIFIED));
        }
    }
    match (meta_text(new, "uid"), meta_text(old, "uid")) {
        (asked, there) if asked.is_empty() || asked == there || !whole => Ok(()),
        (asked, there) => {
            let why =
                format!("Precondition failed: UID in precondition: {asked}, UID in object meta: {there}");
            Err(conflict(kind, name, &why))
        }
    }
}

/// Restores a field from the old object.
fn restore(new: &mut Value, old: &Value, field: &str) {
    let Some(new) = new.as_object_mut() else { return };
    match old.get(field) {
        Some(value) => new.insert(field.into(), value.clone()),
        None => new.remove(field),
    };
}

/// Restores everything but these fields of the root from the old object.
fn swap_parts(new: &mut Value, old: &Value, kept: &[&str]) {
    let mut restored = old.clone();
    for field in kept {
        self::restore(&mut restored, new, field);
    }
    *new = restored;
}

/// Keeps the changes to one subresource, and restores everything else from the old object.
fn only(new: &mut Value, old: &Value, subresource: Subresource, kind: &Kind) {
    let restore = |new: &mut Value, field: &str| restore(new, old, field);
    match subresource {
        Subresource::Main | Subresource::Scale if kind.has_status => restore(new, "status"),
        Subresource::Main | Subresource::Scale => {}
        Subresource::Status if kind.status_keeps_metadata() => {
            swap_parts(new, old, &["metadata", "status"]);
            for field in kind.status_restores() {
                self::restore(&mut new["metadata"], &old["metadata"], field);
            }
        }
        Subresource::Approval => {
            let conditions = new.pointer_mut("/status/conditions").map(Value::take);
            swap_parts(new, old, &["metadata"]);
            match conditions {
                Some(conditions) => new["status"]["conditions"] = conditions,
                None => {
                    let status = new.get_mut("status").and_then(Value::as_object_mut);
                    drop(status.and_then(|status| status.remove("conditions")));
                }
            }
        }
        Subresource::Status => {
            let status = new.get("status").cloned();
            let kept = ["managedFields", "resourceVersion", "name", "namespace"];
            let kept = kept.map(|field| (field, metadata(new).get(field).cloned()));
            *new = old.clone();
            match status {
                Some(status) => new["status"] = status,
                None => drop(new.as_object_mut().and_then(|new| new.remove("status"))),
            }
            let metadata = metadata_mut(new);
            for (field, value) in kept {
                match value {
                    Some(value) => metadata.insert(field.into(), value),
                    None => metadata.remove(field),
                };
            }
        }
        Subresource::Finalize => {
            let finalizers = new.get("spec").and_then(|spec| spec.get("finalizers")).cloned();
            let entries = metadata(new).get("managedFields").cloned();
            *new = old.clone();
            if let Some(entries) = entries {
                metadata_mut(new).insert("managedFields".into(), entries);
            }
            if let Some(finalizers) = finalizers {
                new["spec"]["finalizers"] = finalizers;
            } else if let Some(spec) = new.get_mut("spec").and_then(Value::as_object_mut) {
                spec.remove("finalizers");
            }
        }
    }
}
