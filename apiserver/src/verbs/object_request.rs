//! Requests for objects, from the wire and from in-process handles.

use std::sync::Arc;

use machinery_objects::Traceparent;
use serde_json::Value;

use crate::admission::AdmissionNotes;
use crate::auth::Identity;
use crate::auth::rbac::GROUP;
use crate::change::{ObjectWrite, WriteOrigin, WritePreconditions};
use crate::fence::Fence;
use crate::kind::{Kind, Subresource};
use crate::meta::finalizer_warnings;
use crate::quota;
use crate::refusal::Refusal;
use crate::server::Shared;
use crate::strategy::metadata;

/// One operation on one or more objects of a kind, on behalf of a user.
pub(crate) struct ObjectRequest<'a> {
    pub(crate) shared: &'a Arc<Shared>,
    pub(crate) kind: &'a Arc<Kind>,
    pub(crate) subresource: Subresource,
    pub(crate) identity: &'a Identity,
    /// The fence that a write requires.
    pub(crate) fence: Option<&'a Fence>,
    /// The trace context of the caller.
    pub(crate) trace: Option<Traceparent>,
    /// Warnings and audit annotations of the request.
    pub(crate) notes: Option<&'a AdmissionNotes<'a>>,
    pub(crate) namespace: Option<&'a str>,
    /// Empty for collections and for objects without a name yet.
    pub(crate) name: &'a str,
}

impl ObjectRequest<'_> {
    pub(crate) const fn namespace(&self) -> Option<&str> {
        self.namespace
    }

    pub(crate) const fn name(&self) -> &str {
        self.name
    }

    /// Prevents privilege escalation: whether the user may grant the rights of a role or binding.
    /// Other objects always pass.
    pub(crate) fn may_grant(&self, object: &Value, old: Option<&Value>) -> Result<(), Refusal> {
        match &self.shared.rules {
            Some(rules) if &*self.kind.group == GROUP => rules.load().may_grant(self.identity, object, old),
            _ => Ok(()),
        }
    }

    /// Returns warnings about a valid write: unwise values, and settings that are not enforced.
    pub(crate) fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        let mut warnings = finalizer_warnings(metadata(new), old.map(metadata));
        if quota::is_quota(self.kind) && self.subresource == Subresource::Main {
            warnings.extend(quota::warnings(&self.shared.kinds(), new));
        }
        warnings
    }

    /// Returns a write of an object of this kind with the request's preconditions.
    pub(crate) fn object_write<'c>(&'c self, key: &'c Arc<str>, dry_run: bool) -> ObjectWrite<'c> {
        let preconditions = WritePreconditions { fence: self.fence, ..WritePreconditions::default() };
        let origin = WriteOrigin::Request;
        ObjectWrite { shared: self.shared, kind: self.kind, key, preconditions, origin, dry_run }
    }

    pub(crate) fn key(&self) -> Arc<str> {
        self.kind.place.key(self.namespace, self.name)
    }
}
