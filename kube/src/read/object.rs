//! One object, from bytes.

use machinery_objects::{Object, SourceError, Unreadable};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::meta::Bare;
use crate::text::excerpt;

/// An answer that is no answer.
pub(crate) fn malformed(error: &dyn std::fmt::Display) -> SourceError {
    SourceError::Malformed { reason: excerpt(&error.to_string()) }
}

/// An object that has a name and a version, as all have that a source hands out.
pub(super) fn whole<O: Object>(object: O) -> Result<O, SourceError> {
    if object.key().is_unnamed() {
        return Err(malformed(&"there is an object without a name"));
    }
    if object.version().is_none() {
        return Err(malformed(&format_args!("{} has no resourceVersion", object.key())));
    }
    Ok(object)
}

/// The only object of an answer.
pub(crate) fn object<O: Object + DeserializeOwned>(body: &[u8]) -> Result<O, SourceError> {
    whole(serde_json::from_slice(body).map_err(|error| malformed(&error))?)
}

/// An object among others, or which one it is that cannot be read.
pub(super) fn one<O: Object + DeserializeOwned>(
    raw: &RawValue,
    is_gone: bool,
) -> Result<Result<O, Unreadable>, SourceError> {
    let error = match serde_json::from_str(raw.get()) {
        Ok(object) => return whole(object).map(Ok),
        Err(error) => error,
    };
    let which: Bare = serde_json::from_str(raw.get())
        .map_err(|_| malformed(&format_args!("there is an object without readable metadata: {error}")))?;
    let (key, version) = (which.metadata.key, which.metadata.version);
    if key.is_unnamed() {
        return Err(malformed(&format_args!("there is an object without a name: {error}")));
    }
    Ok(Err(Unreadable { key, version, is_gone, reason: excerpt(&error.to_string()) }))
}
