//! One object, from bytes. What its type does with them is the user's, and may panic.

use machinery_objects::{Object, SourceError, Unreadable};
use machinery_sync::contained;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::meta::Bare;
use crate::text::excerpt;

/// An answer that is no answer.
pub(crate) fn malformed(error: &dyn std::fmt::Display) -> SourceError {
    SourceError::Malformed { reason: excerpt(&error.to_string()) }
}

/// The only object of an answer.
pub(crate) fn object<O: Object + DeserializeOwned>(body: &[u8]) -> Result<O, SourceError> {
    read(body).map_err(|why| malformed(&why))
}

/// An object among others, or which one it is that cannot be read: unnamed, if its text says no name.
pub(super) fn one<O: Object + DeserializeOwned>(raw: &RawValue, is_gone: bool) -> Result<O, Unreadable> {
    read(raw.get().as_bytes()).map_err(|why| {
        // Whatever its type makes of it: the name is what the server says.
        let which =
            serde_json::from_str(raw.get()).ok().map(|Bare { metadata }| (metadata.key, metadata.version));
        let (key, version) = which.unwrap_or_default();
        Unreadable { key, version, is_gone, reason: excerpt(&why) }
    })
}

/// Whether an object has a name and a version, as all have that a source hands out; if not, why.
pub(super) fn whole<O: Object>(object: &O) -> Result<(), &'static str> {
    match contained(|| (object.key().is_unnamed(), object.version().is_none())) {
        Ok((false, false)) => Ok(()),
        Ok((true, _)) => Err("it has no name"),
        Ok((false, true)) => Err("it has no resourceVersion"),
        Err(_) => Err("it panics when it is asked for its name and version"),
    }
}

fn read<O: Object + DeserializeOwned>(text: &[u8]) -> Result<O, String> {
    let read = contained(|| serde_json::from_slice(text)).map_err(|_| "its type panics when it is read")?;
    let object = read.map_err(|error| error.to_string())?;
    whole(&object)?;
    Ok(object)
}
