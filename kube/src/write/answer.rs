//! What the answer to a write means. Pure.

use machinery_objects::{
    Deleted, Object, ObjectKey, ResourceVersion, Uid, WriteError, WriteToken, Written, Wrote,
};
use machinery_sync::contained;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::read::object;
use crate::refusal::Status;

/// What was made or changed.
pub(super) fn written<O: Object + DeserializeOwned>(body: &[u8]) -> Result<Written<O>, WriteError> {
    let Told { object, key, version, uid } = told(body)?;
    let wrote = match version {
        // The last finalizer went, and the object with it: the version is that of before.
        _ if Going::of(body).is_gone() => Wrote::Removed(None),
        Some(version) => Wrote::Stored(version),
        None => Wrote::Removed(None),
    };
    Ok(Written { object, token: WriteToken { key, uid, wrote } })
}

/// What became of an object that was to go.
pub(super) fn deleted<O: Object + DeserializeOwned>(
    body: &[u8],
    key: &ObjectKey,
    uid: Option<&Uid>,
) -> Result<Deleted<O>, WriteError> {
    let gone = |found: Option<&str>| {
        let uid = found.and_then(Uid::new).or_else(|| uid.cloned());
        Deleted::Gone(WriteToken { key: key.clone(), uid, wrote: Wrote::Removed(None) })
    };
    if let Some(status) = Status::read(body) {
        return Ok(gone(status.uid()));
    }
    let going = Going::of(body);
    if going.metadata.deletion_timestamp.is_none() {
        return Ok(gone(going.metadata.uid.as_deref()));
    }
    let Told { object, version, uid: found, .. } = told(body)?;
    let Some(version) = version else { return Ok(gone(found.as_ref().map(Uid::as_str))) };
    let uid = found.or_else(|| uid.cloned());
    let token = WriteToken { key: key.clone(), uid, wrote: Wrote::Stored(version) };
    Ok(Deleted::Marked(Written { object, token }))
}

/// An object, and what it says of itself.
struct Told<O> {
    object: O,
    key: ObjectKey,
    version: Option<ResourceVersion>,
    uid: Option<Uid>,
}

/// It was written, and where nobody can say as what, nobody knows what came of it.
fn told<O: Object + DeserializeOwned>(body: &[u8]) -> Result<Told<O>, WriteError> {
    let object: O = object(body).map_err(|error| WriteError::UnknownOutcome { reason: error.to_string() })?;
    let says = contained(|| (object.key(), object.version(), object.uid().and_then(Uid::new)));
    match says {
        Ok((key, version, uid)) => Ok(Told { object, key, version, uid }),
        Err(_) => Err(WriteError::UnknownOutcome {
            reason: "the object panics when it is asked for its UID".into(),
        }),
    }
}

/// Of an object, what says whether it goes.
#[derive(Default, Deserialize)]
struct Going {
    #[serde(default)]
    metadata: GoingMeta,
    #[serde(default)]
    spec: Option<GoingSpec>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct GoingMeta {
    uid: Option<String>,
    deletion_timestamp: Option<String>,
    deletion_grace_period_seconds: Option<i64>,
    finalizers: Option<Vec<IgnoredAny>>,
}

/// A namespace has finalizers in its spec.
#[derive(Deserialize)]
struct GoingSpec {
    #[serde(default)]
    finalizers: Option<IgnoredAny>,
}

impl Going {
    /// One that says neither is not going.
    fn of(body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_default()
    }

    /// Whether nothing holds it any more.
    fn is_gone(&self) -> bool {
        let GoingMeta { deletion_timestamp, deletion_grace_period_seconds, finalizers, .. } = &self.metadata;
        deletion_timestamp.is_some()
            && finalizers.as_ref().is_none_or(Vec::is_empty)
            && deletion_grace_period_seconds.is_none_or(|seconds| seconds == 0)
            && self.spec.as_ref().is_none_or(|spec| spec.finalizers.is_none())
    }
}
