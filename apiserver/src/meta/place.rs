//! Name and namespace of an object, against those of the path.

use serde_json::{Map, Value};

use super::validate::text;
use crate::refusal::Refusal;

/// Sets the namespace of the path. An object of a cluster-scoped kind loses its namespace.
pub(super) fn put(meta: &mut Map<String, Value>, namespace: Option<&str>) -> Result<(), Refusal> {
    match (text(meta, "namespace"), namespace) {
        (_, None) => {
            meta.remove("namespace");
        }
        ("", Some(namespace)) => {
            meta.insert("namespace".into(), namespace.into());
        }
        (own, Some(namespace)) if own == namespace => {}
        _ => {
            return Err(Refusal::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
    }
    Ok(())
}

/// 400 if the object is not the one that the path names.
pub(crate) fn check_name(meta: &Map<String, Value>, name: &str) -> Result<(), Refusal> {
    match text(meta, "name") {
        own if own == name => Ok(()),
        "" => Err(Refusal::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))),
        own => Err(Refusal::bad_request(format!(
            "the name of the object ({own}) does not match the name on the URL ({name})"
        ))),
    }
}
