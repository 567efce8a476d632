//! The agent's writes of CRs: finalizers and statuses, on condition of the version that was read
//! and under the fence of the term.

use std::sync::Arc;

use machinery::objects::{
    Conflict, Fence, Object as _, Patch, PatchFormat, Preconditions, ResourceVersion, Uid, WriteError,
    WriteToken,
};
use serde_json::{Value, json};

use super::sources::KindSource;
use crate::model::{SdewanObject, SyncStatus};

/// The result of a write.
pub(super) enum CrWrite {
    /// It is stored: the object as it is now.
    Stored(Arc<SdewanObject>, WriteToken),
    /// The object was changed or is gone: the next run decides again.
    Outdated,
}

/// Adds the finalizer of the kind.
pub(super) async fn add_finalizer(
    kind: &KindSource,
    object: &SdewanObject,
    fence: Option<&Fence>,
) -> Result<CrWrite, WriteError> {
    let mut finalizers = object.metadata.finalizers.clone().unwrap_or_default();
    finalizers.push(kind.resource.kind.finalizer.to_owned());
    patch(kind, object, &json!({"metadata": {"finalizers": finalizers}}), false, fence).await
}

/// Removes the finalizer of the kind.
pub(super) async fn remove_finalizer(
    kind: &KindSource,
    object: &SdewanObject,
    fence: Option<&Fence>,
) -> Result<CrWrite, WriteError> {
    let mut finalizers = object.metadata.finalizers.clone().unwrap_or_default();
    finalizers.retain(|one| one != kind.resource.kind.finalizer);
    patch(kind, object, &json!({"metadata": {"finalizers": finalizers}}), false, fence).await
}

/// Writes a status.
pub(super) async fn write_status(
    kind: &KindSource,
    object: &SdewanObject,
    status: &SyncStatus,
    fence: Option<&Fence>,
) -> Result<CrWrite, WriteError> {
    patch(kind, object, &status.patch(), true, fence).await
}

/// Removes the note of the CNF to which an object was applied.
pub(super) async fn clear_applied_to(
    kind: &KindSource,
    object: &SdewanObject,
    fence: Option<&Fence>,
) -> Result<CrWrite, WriteError> {
    patch(kind, object, &json!({"status": {"appliedTo": null}}), true, fence).await
}

async fn patch(
    kind: &KindSource,
    object: &SdewanObject,
    body: &Value,
    status: bool,
    fence: Option<&Fence>,
) -> Result<CrWrite, WriteError> {
    let body = serde_json::to_vec(body).unwrap_or_default();
    let patch = Patch { format: PatchFormat::Merge, body: body.into(), status };
    let version = object.metadata.resource_version.as_deref().and_then(ResourceVersion::new);
    // No server compares the UID of a status patch. The version is enough: an object that was made
    // again under the name has another one.
    let uid = if status { None } else { object.metadata.uid.as_deref().and_then(Uid::new) };
    let only_if = Preconditions { uid, version, fence: fence.cloned() };
    match kind.writer.patch(&object.key(), &patch, &only_if).await {
        Ok(written) => Ok(CrWrite::Stored(Arc::new(written.object), written.token)),
        Err(error @ WriteError::Conflict(Conflict::Fence(_))) => Err(error),
        Err(WriteError::NotFound | WriteError::Conflict(_)) => Ok(CrWrite::Outdated),
        Err(error) => Err(error),
    }
}
