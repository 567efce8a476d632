//! Interprets the responses to writes. Pure.

use machinery_objects::{
    Deleted, Object, ObjectKey, ResourceVersion, Uid, WriteError, WriteOutcome, WriteToken, Written,
};
use machinery_sync::contained;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::read::object;
use crate::refusal::Status;

/// Decodes a created or updated object. `base` is the version that the write required, `made`
/// whether the write made the new version, if known.
pub(super) fn written<O: Object + DeserializeOwned>(
    body: &[u8],
    base: Option<&ResourceVersion>,
    made: Option<bool>,
) -> Result<Written<O>, WriteError> {
    let StoredObject { object, key, version, uid, is_deleting } = stored(body)?;
    let wrote = match version {
        // The last finalizer was removed, and the object with it: the version is the one before.
        // Only then: it decodes the body again.
        _ if is_deleting && DeletionState::of(body).is_gone() => WriteOutcome::Removed(None),
        // From the required version on, nobody else wrote.
        Some(version) if made.unwrap_or_else(|| base.is_some_and(|base| *base != version)) => {
            WriteOutcome::Stored(version)
        }
        Some(version) => WriteOutcome::Observed(version),
        None => WriteOutcome::Removed(None),
    };
    Ok(Written { object, token: WriteToken { key, uid, wrote } })
}

/// Interprets the response to a delete.
pub(super) fn deleted<O: Object + DeserializeOwned>(
    body: &[u8],
    key: &ObjectKey,
    uid: Option<&Uid>,
) -> Result<Deleted<O>, WriteError> {
    let gone = |found: Option<&str>| {
        let uid = found.and_then(Uid::new).or_else(|| uid.cloned());
        Deleted::Gone(WriteToken { key: key.clone(), uid, wrote: WriteOutcome::Removed(None) })
    };
    if let Some(status) = Status::read(body) {
        return Ok(gone(status.uid()));
    }
    let state = DeletionState::of(body);
    // Nothing delayed the removal, and the body is the last state.
    if state.metadata.deletion_timestamp.is_none() {
        return Ok(gone(state.metadata.uid.as_deref()));
    }
    let StoredObject { object, version, uid: found, .. } = stored(body)?;
    let Some(version) = version else { return Ok(gone(found.as_ref().map(Uid::as_str))) };
    let uid = found.or_else(|| uid.cloned());
    let token = WriteToken { key: key.clone(), uid, wrote: WriteOutcome::Stored(version) };
    Ok(Deleted::Marked(Written { object, token }))
}

/// An object with its key, version and UID.
struct StoredObject<O> {
    object: O,
    key: ObjectKey,
    version: Option<ResourceVersion>,
    uid: Option<Uid>,
    is_deleting: bool,
}

/// The write is committed; if the response cannot be decoded, its outcome is unknown.
fn stored<O: Object + DeserializeOwned>(body: &[u8]) -> Result<StoredObject<O>, WriteError> {
    let object: O = object(body).map_err(|error| WriteError::UnknownOutcome { reason: error.to_string() })?;
    let says =
        contained(|| (object.key(), object.version(), object.uid().and_then(Uid::new), object.is_deleting()));
    match says {
        Ok((key, version, uid, is_deleting)) => Ok(StoredObject { object, key, version, uid, is_deleting }),
        Err(_) => Err(WriteError::UnknownOutcome { reason: "the object panics when its UID is read".into() }),
    }
}

/// The fields of an object that show whether a delete removed it.
#[derive(Default, Deserialize)]
struct DeletionState {
    #[serde(default)]
    metadata: DeletionMetadata,
    #[serde(default)]
    spec: Option<DeletionSpec>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct DeletionMetadata {
    uid: Option<String>,
    deletion_timestamp: Option<String>,
    deletion_grace_period_seconds: Option<i64>,
    finalizers: Option<Vec<IgnoredAny>>,
}

/// A namespace has finalizers in its spec.
#[derive(Deserialize)]
struct DeletionSpec {
    #[serde(default)]
    finalizers: Option<IgnoredAny>,
}

impl DeletionState {
    /// An object without these fields is not being deleted.
    fn of(body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_default()
    }

    /// Returns whether nothing delays its removal.
    fn is_gone(&self) -> bool {
        let DeletionMetadata { deletion_timestamp, deletion_grace_period_seconds, finalizers, .. } =
            &self.metadata;
        deletion_timestamp.is_some()
            && finalizers.as_ref().is_none_or(Vec::is_empty)
            && deletion_grace_period_seconds.is_none_or(|seconds| seconds == 0)
            && self.spec.as_ref().is_none_or(|spec| spec.finalizers.is_none())
    }
}
