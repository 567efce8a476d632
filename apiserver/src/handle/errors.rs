//! Converts refusals to the errors of the in-process API.

use std::time::Duration;

use machinery_objects::{
    Conflict, Continue, Fence as Named, InvalidField, ListError, ObjectKey, Revision, SourceError,
    Unreadable, WatchError, WriteError,
};
use machinery_store::{Entry, WatchError as Lost};

use crate::fence::Fence;
use crate::guard::guard_that_refused;
use crate::kind::Kind;
use crate::refusal::Refusal;

/// Converts the refusal of a source.
pub(super) fn source_error(refusal: Refusal) -> SourceError {
    let retry_after = refusal.retry_after.map(|seconds| Duration::from_secs(seconds.into()));
    let reason = refusal.message;
    match refusal.code {
        401 => SourceError::Unauthorized { reason },
        403 => SourceError::Forbidden { reason },
        429 => SourceError::TooManyRequests { retry_after },
        500 => SourceError::Malformed { reason },
        503 => SourceError::Unavailable { reason, retry_after },
        504 => SourceError::TimedOut,
        _ => {
            let causes = refusal.causes.into_iter();
            let field = |cause: crate::Cause| InvalidField { field: cause.field, reason: cause.message };
            SourceError::Invalid { reason, causes: causes.map(field).collect() }
        }
    }
}

/// Converts the refusal of a list. `newest` is the current revision of the store.
pub(super) fn list_error(refusal: Refusal, newest: Option<Revision>) -> ListError {
    if refusal.reason == "Expired" {
        return ListError::Expired { rest: refusal.next.as_deref().and_then(Continue::new) };
    }
    if is_of_the_future(&refusal) {
        let retry_after = refusal.retry_after.map(|seconds| Duration::from_secs(seconds.into()));
        return ListError::FutureRevision { newest: newest.map(Into::into), retry_after };
    }
    source_error(refusal).into()
}

/// Converts the refusal to start a watch.
pub(super) fn watch_error(refusal: Refusal, newest: Option<Revision>) -> WatchError {
    match list_error(refusal, newest) {
        ListError::Expired { .. } => WatchError::Expired,
        ListError::FutureRevision { newest, retry_after } => {
            WatchError::FutureRevision { newest, retry_after }
        }
        ListError::Source(error) => error.into(),
        other => SourceError::Malformed { reason: other.to_string() }.into(),
    }
}

/// Converts the error that ended a watch. After a slow reader was dropped, only a relist helps.
pub(super) fn lost(error: Lost) -> WatchError {
    match error {
        Lost::Compacted { .. } | Lost::TooSlow { .. } => WatchError::Expired,
        Lost::Future { current, .. } => {
            WatchError::FutureRevision { newest: Some(current.into()), retry_after: None }
        }
        Lost::TooMany { .. } => SourceError::TooManyRequests { retry_after: None }.into(),
        other => SourceError::Unavailable { reason: other.to_string(), retry_after: None }.into(),
    }
}

/// Converts the refusal of a write. `known` is the failed precondition, if any; `fence` is the
/// fence of the write.
pub(super) fn write_error(refusal: Refusal, known: Option<Conflict>, fence: Option<&Named>) -> WriteError {
    if let Some(stale) = fence.filter(|_| Fence::refused(&refusal)) {
        return WriteError::Conflict(Conflict::Fence(Box::new(stale.clone())));
    }
    if let Some(guard) = guard_that_refused(&refusal) {
        return WriteError::Conflict(Conflict::Guard { guard: guard.into(), reason: refusal.message });
    }
    match refusal.reason {
        "AlreadyExists" => WriteError::AlreadyExists { uid: None },
        "Conflict" => {
            let reason = refusal.message;
            WriteError::Conflict(known.unwrap_or(Conflict::Unspecified { reason }))
        }
        "NotFound" => WriteError::NotFound,
        "Timeout" => WriteError::UnknownOutcome { reason: refusal.message },
        _ => source_error(refusal).into(),
    }
}

/// The refusal of an object that does not decode as `K`. For a Secret, and for a kind with
/// passwords, it omits the reason, which would quote the value, and programs log errors.
pub(super) fn unreadable<K>(has_passwords: bool, key: &str, error: &dyn std::fmt::Display) -> Refusal {
    let name = std::any::type_name::<K>();
    let hides = has_passwords || key.starts_with("core/secrets/");
    let why = if hides { String::new() } else { format!(": {error}") };
    Refusal::new(500, "InternalError", format!("{key:?} cannot be read as a {name}{why}"))
}

/// Reports an undecodable object without hiding the other objects.
pub(super) fn broken(
    kind: &Kind,
    entry: &Entry,
    shown: Revision,
    is_gone: bool,
    error: &SourceError,
) -> Unreadable {
    let (namespace, name) = kind.place.names(&entry.key);
    let key = ObjectKey::new(namespace, name).unwrap_or_default();
    Unreadable { key, version: Some(shown.into()), is_gone, reason: error.to_string() }
}

fn is_of_the_future(refusal: &Refusal) -> bool {
    refusal.causes.iter().any(|cause| cause.reason == "ResourceVersionTooLarge")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_about_secrets_omit_the_value() {
        let why = "invalid type: string \"planted\", expected u64";
        assert!(!unreadable::<u64>(false, "core/secrets/default/a", &why).message.contains("planted"));
        assert!(!unreadable::<u64>(true, "example.com/keys/default/a", &why).message.contains("planted"));
        assert!(unreadable::<u64>(false, "core/configmaps/default/a", &why).message.contains("planted"));
    }
}
