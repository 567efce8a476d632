//! The refusal of a patch that cannot be applied.

use crate::refusal::{Cause, Refusal};

/// 422, with Kubernetes' fixed message; the error itself is the cause.
pub(super) fn rejected(why: impl Into<String>) -> Refusal {
    let cause = Cause { reason: "FieldValueInvalid", message: why.into(), field: "patch".into() };
    let refusal =
        Refusal::new(422, "Invalid", "the server rejected our request due to an error in our request");
    Refusal { causes: vec![cause], ..refusal }
}

/// 413: the patch exceeds a limit.
pub(super) fn too_large(why: impl std::fmt::Display) -> Refusal {
    Refusal::new(413, "RequestEntityTooLarge", format!("Request entity too large: {why}"))
}
