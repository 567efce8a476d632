//! The metadata in a write of the subresource `status`.

use super::{Kind, KindSchema};
use crate::native::api_service;

impl Kind {
    /// Returns whether a write of `status` changes metadata, too. Kubernetes decides so for most
    /// built-in kinds, and against it for custom resources.
    pub(crate) fn status_keeps_metadata(&self) -> bool {
        matches!(self.shape, KindSchema::Typed(_)) && &*self.group != api_service::GROUP
    }

    /// Returns whether a new object keeps the status that its creator gives it: a node registers
    /// itself with one.
    pub(crate) fn is_created_with_status(&self) -> bool {
        self.group.is_empty() && self.names.kind == "Node"
    }

    /// Returns the fields of the metadata that such a write leaves unchanged nonetheless.
    pub(crate) fn status_restores(&self) -> &'static [&'static str] {
        match (&*self.group, self.names.kind.as_str()) {
            ("apps", "Deployment") => &["labels"],
            ("", "Pod") => &["ownerReferences"],
            _ => &[],
        }
    }
}
