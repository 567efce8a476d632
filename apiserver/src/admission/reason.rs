//! The Status reasons of Kubernetes as static strings.

const REASONS: [&str; 20] = [
    "Unauthorized",
    "Forbidden",
    "NotFound",
    "AlreadyExists",
    "Conflict",
    "Gone",
    "Invalid",
    "ServerTimeout",
    "StoreReadError",
    "Timeout",
    "TooManyRequests",
    "BadRequest",
    "MethodNotAllowed",
    "NotAcceptable",
    "RequestEntityTooLarge",
    "UnsupportedMediaType",
    "InternalError",
    "Expired",
    "ServiceUnavailable",
    "Unknown",
];

const CAUSES: [&str; 11] = [
    "FieldValueNotFound",
    "FieldValueRequired",
    "FieldValueDuplicate",
    "FieldValueInvalid",
    "FieldValueNotSupported",
    "FieldValueForbidden",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
    "UnexpectedServerResponse",
    "FieldManagerConflict",
];

/// Returns the reason if Kubernetes defines it, else an empty one.
pub(super) fn known(text: &str) -> &'static str {
    REASONS.into_iter().find(|one| *one == text).unwrap_or_default()
}

pub(super) fn known_cause(text: &str) -> &'static str {
    CAUSES.into_iter().find(|one| *one == text).unwrap_or_default()
}

/// Returns the reason of an HTTP status.
pub(super) const fn of_code(code: u16) -> &'static str {
    match code {
        400 => "BadRequest",
        401 => "Unauthorized",
        404 => "NotFound",
        409 => "Conflict",
        410 => "Gone",
        413 => "RequestEntityTooLarge",
        422 => "Invalid",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        500..=599 => "InternalError",
        _ => "Forbidden",
    }
}
