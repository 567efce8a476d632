//! Builds the bodies of writes: the object, and its preconditions in the fields that the server
//! compares. Pure.

use machinery_objects::{
    Conflict, Deletion, InvalidField, Kind, Patch, PatchFormat, Preconditions, Propagation, Scope,
    SourceError, WriteError,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Returns a metadata field of an object in JSON.
pub(super) fn text<'a>(object: &'a Map<String, Value>, field: &str) -> &'a str {
    let metadata = object.get("metadata").and_then(Value::as_object);
    metadata.and_then(|metadata| metadata.get(field)).and_then(Value::as_str).unwrap_or_default()
}

/// Encodes an object as JSON with `apiVersion` and `kind`.
pub(super) fn object<O: Serialize>(kind: &Kind, object: &O) -> Result<Map<String, Value>, SourceError> {
    let value = serde_json::to_value(object).map_err(|error| invalid(error.to_string(), Vec::new()))?;
    let Value::Object(mut object) = value else {
        return Err(invalid("it is encoded as something else than an object".into(), Vec::new()));
    };
    // Items of a list lack both, and servers require them.
    object.entry("apiVersion").or_insert_with(|| kind.api_version().into());
    object.entry("kind").or_insert_with(|| kind.name().into());
    match object.get("metadata") {
        Some(Value::Object(_)) => Ok(object),
        _ => Err(at("metadata", "it is missing, and names the object")),
    }
}

/// Returns the namespace in the object's metadata, if its kind is namespaced.
pub(super) fn namespace<'a>(
    kind: &Kind,
    object: &'a Map<String, Value>,
) -> Result<Option<&'a str>, SourceError> {
    match (kind.scope(), text(object, "namespace")) {
        (Scope::Cluster, _) => Ok(None),
        (Scope::Namespaced, "") => {
            Err(at("metadata.namespace", &format!("{kind} are in a namespace: say in which")))
        }
        (Scope::Namespaced, namespace) => Ok(Some(namespace)),
    }
}

/// Merges the preconditions of a write with the object's own metadata, and stores both in it.
pub(super) fn conditions(object: &mut Map<String, Value>, only_if: &Preconditions) -> Result<(), WriteError> {
    let version = only_if.version.as_ref().map(ToString::to_string);
    let uid = only_if.uid.as_ref().map(|uid| uid.as_str().to_owned());
    // Both are preconditions. Two that differ cannot both hold.
    let differs = |required: &Option<String>, own: &str| {
        !own.is_empty() && required.as_ref().is_some_and(|required| required != own)
    };
    if differs(&uid, text(object, "uid")) {
        return Err(WriteError::Conflict(Conflict::Uid { found: None }));
    }
    if differs(&version, text(object, "resourceVersion")) {
        return Err(WriteError::Conflict(Conflict::Version { found: None }));
    }
    put(object, uid, version);
    Ok(())
}

fn put(object: &mut Map<String, Value>, uid: Option<String>, version: Option<String>) {
    let metadata = entry(object, "metadata");
    for (field, value) in [("uid", uid), ("resourceVersion", version)] {
        if let Some(value) = value {
            metadata[field] = value.into();
        }
    }
}

/// Adds an annotation to an object.
pub(super) fn annotate(object: &mut Map<String, Value>, key: &str, text: String) {
    let metadata = entry(object, "metadata");
    let annotations = metadata.as_object_mut().map(|metadata| entry(metadata, "annotations"));
    if let Some(annotations) = annotations {
        annotations[key] = text.into();
    }
}

/// Returns a field that is an object, created if absent.
fn entry<'a>(of: &'a mut Map<String, Value>, field: &str) -> &'a mut Value {
    let entry = of.entry(field).or_insert_with(|| json!({}));
    if !entry.is_object() {
        *entry = json!({});
    }
    entry
}

/// Encodes the options of a delete.
pub(super) fn deletion(deletion: &Deletion) -> Vec<u8> {
    let Deletion { only_if: Preconditions { uid, version, .. }, propagation } = deletion;
    let propagation = match propagation {
        Propagation::Background => "Background",
        Propagation::Foreground => "Foreground",
        Propagation::Orphan => "Orphan",
    };
    let mut options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation});
    let conditions = [
        ("uid", uid.as_ref().map(ToString::to_string)),
        ("resourceVersion", version.as_ref().map(ToString::to_string)),
    ];
    for (name, condition) in conditions {
        if let Some(condition) = condition {
            options["preconditions"][name] = condition.into();
        }
    }
    options.to_string().into_bytes()
}

/// Encodes a patch with its preconditions, and returns its content type. `machinery` is whether the
/// server is one of Machinery, which checks the UID of an applied status.
pub(super) fn patch(
    patch: &Patch,
    only_if: &Preconditions,
    machinery: bool,
) -> Result<(&'static str, Vec<u8>), WriteError> {
    let content_type = match &patch.format {
        PatchFormat::Json => "application/json-patch+json",
        PatchFormat::Merge => "application/merge-patch+json",
        // An apply creates a missing object, whatever version is required; not so with a UID, and not by
        // its status.
        PatchFormat::Apply { .. } if only_if.version.is_some() && only_if.uid.is_none() && !patch.status => {
            let what = "apply with a version and no UID as conditions";
            return Err(SourceError::Unsupported { what }.into());
        }
        PatchFormat::Apply { .. } => "application/apply-patch+yaml",
        _ => return Err(SourceError::Unsupported { what: "patches of this format" }.into()),
    };
    if only_if.uid.is_none() && only_if.version.is_none() {
        return Ok((content_type, patch.body.to_vec()));
    }
    // Of a status patch, servers ignore other fields, except the version.
    let is_checked = machinery && matches!(patch.format, PatchFormat::Apply { .. });
    if patch.status && patch.format != PatchFormat::Json && only_if.uid.is_some() && !is_checked {
        let what = "UID as a condition of a patch of the status, but in JSON Patch";
        return Err(SourceError::Unsupported { what }.into());
    }
    let read = serde_json::from_slice(&patch.body);
    let body = match read.map_err(|error| invalid(format!("the patch is not JSON: {error}"), Vec::new()))? {
        Value::Object(mut body) if patch.format != PatchFormat::Json => {
            conditions(&mut body, only_if)?;
            Value::Object(body)
        }
        Value::Array(operations) if patch.format == PatchFormat::Json => {
            Value::Array(tested(operations, only_if)?)
        }
        _ => return Err(invalid("the patch is not one of its format".into(), Vec::new()).into()),
    };
    Ok((content_type, body.to_string().into_bytes()))
}

fn tested(mut operations: Vec<Value>, only_if: &Preconditions) -> Result<Vec<Value>, SourceError> {
    const VERSION: &str = "/metadata/resourceVersion";
    if let Some(uid) = &only_if.uid {
        // First, before an operation of the patch could change the UID.
        operations.insert(0, json!({"op": "test", "path": "/metadata/uid", "value": uid.as_str()}));
    }
    if let Some(version) = &only_if.version {
        if operations.iter().any(|operation| operation["path"] == VERSION) {
            return Err(at("patch", "the version is a condition already: leave it out of the operations"));
        }
        // Last, so that no operation sees it.
        operations.push(json!({"op": "add", "path": VERSION, "value": version.to_string()}));
    }
    Ok(operations)
}

pub(super) fn at(field: &str, reason: &str) -> SourceError {
    invalid(reason.into(), vec![InvalidField { field: field.into(), reason: reason.into() }])
}

fn invalid(reason: String, causes: Vec<InvalidField>) -> SourceError {
    SourceError::Invalid { reason, causes }
}
