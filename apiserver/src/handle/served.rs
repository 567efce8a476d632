//! Whether a kind is served as the program knows it.

use std::sync::Arc;

use machinery_objects::{InterestBy, Kind as ObjectKind, Scope, SourceError};

use super::errors::source_error;
use crate::interest::index_for;
use crate::kind::Kind;
use crate::server::{ApiServer, Shared};

impl ApiServer {
    /// Checks that a kind is served at present, with this scope, and can be listed.
    ///
    /// # Errors
    /// [`SourceError::NotServed`], with the reason.
    pub fn check_kind(&self, kind: &ObjectKind) -> Result<(), SourceError> {
        served(self.shared(), kind, "list").map(drop)
    }

    /// Checks that a kind is served, and that its objects can be selected by this field or label.
    ///
    /// # Errors
    /// [`SourceError::NotServed`], or [`SourceError::Invalid`] for a field that is not selectable.
    pub fn check_selectable(&self, kind: &ObjectKind, by: &InterestBy) -> Result<(), SourceError> {
        let kind = served(self.shared(), kind, "watch")?;
        // Names are selectable within a namespace, which a filter may set.
        index_for(by, &kind, Some("")).map(drop).map_err(source_error)
    }
}

/// Returns a kind as currently served, if it supports `verb`.
pub(super) fn served(shared: &Shared, wanted: &ObjectKind, verb: &str) -> Result<Arc<Kind>, SourceError> {
    let registry = shared.kinds();
    let found = registry.find(wanted.group(), wanted.version(), wanted.plural());
    let namespaced = wanted.scope() == Scope::Namespaced;
    let reason = match found {
        None => format!("there is no {wanted} in {}", wanted.api_version()),
        Some(kind) if kind.namespaced != namespaced => {
            format!("{wanted} are {:?} to the program, and not to the server", wanted.scope())
        }
        // Reviews are answered without being stored.
        Some(kind) if kind.review.is_some() || !kind.can(verb) => format!("{wanted} have no {verb}"),
        Some(kind) => return Ok(kind.clone()),
    };
    Err(SourceError::NotServed { reason })
}
