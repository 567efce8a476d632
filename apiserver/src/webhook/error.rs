//! Errors of the webhook server.

use std::net::SocketAddr;

use thiserror::Error;

/// The reason that a review cannot be answered: 400 with this text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReviewError {
    /// The body is no JSON.
    #[error("the body is no JSON: {reason}; send an AdmissionReview of admission.k8s.io/v1")]
    Json {
        /// The syntax error.
        reason: String,
    },
    /// The body is another object, or an AdmissionReview of another version.
    #[error(
        "expected an AdmissionReview of admission.k8s.io/v1, got {found}; list only v1 in the \
         admissionReviewVersions of the webhook configuration"
    )]
    Version {
        /// Its `apiVersion` and `kind`.
        found: String,
    },
    /// A field of the request is missing or has a wrong type.
    #[error("{field} {reason}; send an AdmissionReview of admission.k8s.io/v1 as Kubernetes does")]
    Field {
        /// The path of the field.
        field: &'static str,
        /// The error.
        reason: &'static str,
    },
    /// The operation is not one that admission reviews.
    #[error(
        "operation {operation} is not reviewed, only CREATE, UPDATE and DELETE; remove it from the rules of the \
         webhook configuration"
    )]
    Operation {
        /// The operation.
        operation: String,
    },
    /// The review has more JSON values than a server accepts.
    #[error("the review has more than {limit} values; raise WebhookLimits::values if objects are that large")]
    TooManyValues {
        /// The limit.
        limit: usize,
    },
}

/// The reason that a webhook server or its manifests are refused.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WebhookServerError {
    /// The address is not available.
    #[error("cannot listen on {address}: {why}; end what listens there, or choose another address")]
    Address {
        /// The address.
        address: SocketAddr,
        /// The I/O error.
        why: std::io::Error,
    },
    /// A certificate or key file is not usable.
    #[error("{0}")]
    File(String),
    /// A hook is invalid.
    #[error("the hook {name:?} is refused: {why}")]
    Hook {
        /// The name of the hook.
        name: String,
        /// The reason with its remedy.
        why: String,
    },
    /// The endpoint cannot be called by an API server.
    #[error("the endpoint of the webhook is refused: {0}")]
    Endpoint(String),
}
