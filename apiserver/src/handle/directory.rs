//! The served kinds, for programs that know a kind by name only.

use std::sync::Arc;

use machinery_objects::{Kind as ObjectKind, Revision, Scope, SourceError};
use tokio::sync::watch;

use super::errors::source_error;
use crate::discovery::by_priority;
use crate::server::{ApiServer, Shared};

/// The kinds that a server serves at present. Cheap to clone.
#[derive(Clone)]
pub struct KindDirectory(Arc<Shared>);

impl ApiServer {
    /// Returns the directory of served kinds.
    #[must_use]
    pub fn kind_directory(&self) -> KindDirectory {
        KindDirectory(self.shared().clone())
    }
}

impl KindDirectory {
    /// Returns the kind with a resource name that can be listed; in the version that discovery
    /// prefers, unless one is given.
    #[must_use]
    pub fn find(&self, group: &str, plural: &str, version: Option<&str>) -> Option<ObjectKind> {
        let registry = self.0.kinds();
        let named = registry.kinds().filter(|kind| {
            &*kind.group == group
                && kind.names.plural == plural
                && version.is_none_or(|version| version == &*kind.version)
                && kind.review.is_none()
                && kind.can("list")
        });
        let kind = named.min_by(|one, other| by_priority(&one.version, &other.version))?;
        let scope = if kind.namespaced { Scope::Namespaced } else { Scope::Cluster };
        ObjectKind::new(&kind.api_version, &kind.names.kind, plural, scope).ok()
    }

    /// Returns a counter of the changes of the set of kinds.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.registry_changes.subscribe()
    }

    /// Returns the revision of the store, by a consistent read.
    ///
    /// # Errors
    /// The store is unavailable.
    pub async fn revision(&self) -> Result<Revision, SourceError> {
        self.0.objects.revision().await.map_err(source_error)
    }
}

impl std::fmt::Debug for KindDirectory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KindDirectory")
    }
}
