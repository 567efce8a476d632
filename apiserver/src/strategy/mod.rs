//! Strategies: pure functions from the old object and the requested one to the stored one.

mod create;
mod delete;
mod trace;
mod update;

pub(crate) use create::{New, create, first_entries, named, placed};
pub(crate) use delete::{Deletion, delete};
pub(crate) use trace::forget_trace;
pub(crate) use update::{entries, update};

use std::sync::LazyLock;

use jiff::Timestamp;
use machinery_objects::Traceparent;
use serde_json::{Map, Value};

use crate::invalid::invalid;
use crate::kind::Kind;
use crate::managed;
use crate::meta::time::shown;
use crate::refusal::{About, Refusal};
use crate::same::same_but;

/// The writer, time and kind of a write.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) kind: &'a Kind,
    pub(crate) now: Timestamp,
    /// The field manager; none if the object names it in managedFields.
    pub(crate) manager: Option<&'a str>,
    /// The namespace of the path.
    pub(crate) namespace: Option<&'a str>,
    /// The trace context of the request.
    pub(crate) trace: Option<Traceparent>,
}

impl Context<'_> {
    /// Updates managedFields. Entries that the client set must have valid managers.
    fn record(&self, old: Option<&Value>, new: &mut Value, subresource: Option<&str>) -> Result<(), Refusal> {
        self.track(old, new, subresource);
        if let Some(old) = old {
            managed::keep_times(old, new);
        }
        let problems = metadata(new).get("managedFields").map(managed::problems).unwrap_or_default();
        if problems.is_empty() {
            return Ok(());
        }
        Err(invalid(&self.kind.group, &self.kind.names.kind, meta_text(new, "name"), &problems))
    }

    fn track(&self, old: Option<&Value>, new: &mut Value, subresource: Option<&str>) {
        if let Some(manager) = self.manager {
            let write = managed::Write {
                manager,
                subresource,
                api_version: &self.kind.api_version,
                now: &shown(self.now),
                versions: self.kind,
            };
            managed::updated(old, new, &write);
        } else if metadata(new).get("managedFields").and_then(Value::as_array).is_some_and(Vec::is_empty) {
            metadata_mut(new).remove("managedFields");
        }
    }
}

/// Returns the object with the managedFields of its writer, and a context in which later mutations
/// are not attributed to the writer.
pub(crate) fn tracked<'a>(
    mut object: Value,
    context: Context<'a>,
    entries: impl FnOnce(Value, &Context<'a>) -> Result<Option<Value>, Refusal>,
) -> (Value, Context<'a>) {
    if context.manager.is_none() {
        return (object, context);
    }
    match entries(object.clone(), &context) {
        Ok(Some(entries)) => drop(metadata_mut(&mut object).insert("managedFields".into(), entries)),
        Ok(None) => drop(metadata_mut(&mut object).remove("managedFields")),
        // Admission may repair an invalid object.
        Err(_) => return (object, context),
    }
    (object, Context { manager: None, ..context })
}

/// The outcome of a strategy.
pub(crate) enum Step {
    /// The object is as it should be.
    Keep,
    Put(Value),
    /// Deletes the object; the value is its last state.
    Delete(Value),
}

/// Returns an object's metadata; an empty map if omitted.
pub(crate) fn metadata(object: &Value) -> &Map<String, Value> {
    object.get("metadata").and_then(Value::as_object).unwrap_or(&EMPTY)
}

static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap_or(&EMPTY)
}

/// Returns an object's metadata for changes, inserting it if omitted.
pub(crate) fn metadata_mut(object: &mut Value) -> &mut Map<String, Value> {
    if !object.get("metadata").is_some_and(Value::is_object) {
        object["metadata"] = Value::Object(Map::new());
    }
    object["metadata"].as_object_mut().expect("it is one by now")
}

/// Returns a string field of the metadata; empty if omitted.
pub(crate) fn meta_text<'a>(object: &'a Value, field: &str) -> &'a str {
    metadata(object).get(field).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn has_finalizers(object: &Value) -> bool {
    metadata(object).get("finalizers").and_then(Value::as_array).is_some_and(|all| !all.is_empty())
}

pub(crate) fn is_deleting(object: &Value) -> bool {
    metadata(object).get("deletionTimestamp").is_some_and(|time| !time.is_null())
}

/// 409: a concurrent write was first.
pub(crate) fn conflict(kind: &Kind, name: &str, why: &str) -> Refusal {
    let message = format!("Operation cannot be fulfilled on {} {name:?}: {why}", kind.resource());
    Refusal { about: about(kind, name), ..Refusal::new(409, "Conflict", message) }
}

pub(crate) const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// 403: not for lack of rights, but by the state of the object.
pub(crate) fn forbidden(kind: &Kind, name: &str, why: &str) -> Refusal {
    let message = format!("{} {name:?} is forbidden: {why}", kind.resource());
    Refusal { about: about(kind, name), ..Refusal::new(403, "Forbidden", message) }
}

/// 404: no object of this name.
pub(crate) fn not_found(kind: &Kind, name: &str) -> Refusal {
    let message = format!("{} {name:?} not found", kind.resource());
    Refusal { about: about(kind, name), ..Refusal::new(404, "NotFound", message) }
}

/// 409: an object of this name exists.
pub(crate) fn already_exists(kind: &Kind, name: &str) -> Refusal {
    let message = format!("{} {name:?} already exists", kind.resource());
    Refusal { about: about(kind, name), ..Refusal::new(409, "AlreadyExists", message) }
}

/// Returns the subject of a refusal, by the plural, as in these messages of Kubernetes.
pub(crate) fn about(kind: &Kind, name: &str) -> About {
    About {
        group: kind.group.to_string(),
        kind: kind.names.plural.clone(),
        name: name.into(),
        uid: String::new(),
    }
}

/// Returns whether two states of an object are the same.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    same_but(&["metadata"], object(a), object(b)) && same_but(&["resourceVersion"], metadata(a), metadata(b))
}

/// Returns whether two objects differ outside of metadata and, if it is a subresource, status: then
/// the generation increases.
pub(crate) fn spec_differs(kind: &Kind, a: &Value, b: &Value) -> bool {
    const ITS_OWN: [&str; 4] = ["metadata", "apiVersion", "kind", "status"];
    let own = if kind.has_status { &ITS_OWN[..] } else { &ITS_OWN[..3] };
    !same_but(own, object(a), object(b))
}
