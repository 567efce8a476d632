//! Decodes one object. Its type is user code, and may panic.

use machinery_objects::{Object, SourceError, Unreadable};
use machinery_sync::contained;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::meta::MetadataOnly;
use crate::text::{excerpt, without_values};

/// The error of a malformed response.
pub(crate) fn malformed(error: &dyn std::fmt::Display) -> SourceError {
    SourceError::Malformed { reason: excerpt(&error.to_string()) }
}

/// Decodes a response with one object.
pub(crate) fn object<O: Object + DeserializeOwned>(body: &[u8]) -> Result<O, SourceError> {
    read(body).map_err(|why| malformed(&why))
}

/// Decodes an object of a list, or reports it as unreadable: unnamed, if its text has no name.
pub(super) fn one<O: Object + DeserializeOwned>(raw: &RawValue, is_gone: bool) -> Result<O, Unreadable> {
    read(raw.get().as_bytes()).map_err(|why| {
        // Independent of the user's type: the name in the server's text.
        let which = serde_json::from_str(raw.get())
            .ok()
            .map(|MetadataOnly { metadata }| (metadata.key, metadata.version));
        let (key, version) = which.unwrap_or_default();
        Unreadable { key, version, is_gone, reason: excerpt(&why) }
    })
}

/// Checks that an object has a name and a version, as every returned object must; returns the
/// defect.
pub(super) fn validate<O: Object>(object: &O) -> Result<(), &'static str> {
    match contained(|| (object.key().is_unnamed(), object.version().is_none())) {
        Ok((false, false)) => Ok(()),
        Ok((true, _)) => Err("it has no name"),
        Ok((false, true)) => Err("it has no resourceVersion"),
        Err(_) => Err("its type panics when its name and version are read"),
    }
}

fn read<O: Object + DeserializeOwned>(text: &[u8]) -> Result<O, String> {
    let read = contained(|| serde_json::from_slice(text)).map_err(|_| "its type panics when it is read")?;
    let object = read.map_err(|error| without_values(&error.to_string()))?;
    validate(&object)?;
    Ok(object)
}
