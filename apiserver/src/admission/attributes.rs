//! The attributes of a request under admission.

use serde_json::Value;

use super::services::AdmissionServices;
use crate::auth::Identity;

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Create.
    Create,
    /// Update or patch of an object or subresource.
    Update,
    /// Delete. The deletion of a collection is one operation per object.
    Delete,
}

impl Operation {
    /// Returns the name in rules and AdmissionReviews: `CREATE`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// The attributes of a request, as `admission.Attributes` of Kubernetes, and the services for
/// plugins: [`warn`](Self::warn), [`annotate`](Self::annotate), and reads of other objects.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Attributes<'a> {
    /// The user of the request; with impersonation, the impersonated one.
    pub user: &'a Identity,
    /// The operation.
    pub operation: Operation,
    /// The API group; empty for the core group.
    pub group: &'a str,
    /// The version of the request.
    pub version: &'a str,
    /// The kind of the object; `Scale` for the subresource `scale`.
    pub kind: &'a str,
    /// The resource, by its plural name: `pods`.
    pub resource: &'a str,
    /// `status`, `scale` or `finalize`; empty for the object itself.
    pub subresource: &'a str,
    /// The namespace of the object; for a namespace its own name.
    pub namespace: Option<&'a str>,
    /// The name of the object, possibly generated.
    pub name: &'a str,
    /// The object to be stored. None for a deletion and in [`mutate`](super::Admission::mutate),
    /// which has it as a parameter.
    pub object: Option<&'a Value>,
    /// The stored object. None for a creation.
    pub old: Option<&'a Value>,
    /// Whether the write is a dry run: admission must then have no side effects.
    pub dry_run: bool,
    pub(crate) services: AdmissionServices<'a>,
}
