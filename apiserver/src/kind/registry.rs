//! The set of served kinds. Immutable, replaced as a whole.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Kind;
use crate::documents::Documents;
use crate::storage::Place;

/// The served kinds, by path.
pub(crate) struct Registry {
    kinds: BTreeMap<KindPath, Arc<Kind>>,
    /// The storage version of each stored kind, by key prefix.
    storage_versions: BTreeMap<Arc<str>, Arc<Kind>>,
    documents: Documents,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct KindPath {
    group: Arc<str>,
    version: Arc<str>,
    plural: Arc<str>,
}

impl Registry {
    /// Builds a registry of served kinds, and of stored kinds that may not be served. Documents
    /// rendered for `previous` are reused.
    pub(crate) fn new(
        kinds: impl IntoIterator<Item = Arc<Kind>>,
        stored: impl IntoIterator<Item = Arc<Kind>>,
        previous: Option<&Self>,
    ) -> Self {
        let path = |kind: &Kind| KindPath {
            group: kind.group.clone(),
            version: kind.version.clone(),
            plural: kind.names.plural.as_str().into(),
        };
        let kinds: BTreeMap<KindPath, Arc<Kind>> =
            kinds.into_iter().map(|kind| (path(&kind), kind)).collect();
        let served = kinds.values().filter(|kind| kind.review.is_none());
        let served = served.map(|kind| kind.stored.as_ref().unwrap_or(kind).clone());
        let storage_versions = served.chain(stored).map(|kind| (kind.place.start(None), kind)).collect();
        let documents = Documents::of(kinds.values(), previous.map(|previous| &previous.documents));
        Self { kinds, storage_versions, documents }
    }

    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Kind>> {
        self.kinds.get(&KindPath { group: group.into(), version: version.into(), plural: plural.into() })
    }

    /// The storage version of each stored kind, including kinds that are not served but may have
    /// objects.
    pub(crate) fn storage_versions(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.storage_versions.values()
    }

    /// Returns the kind of a stored object's key.
    pub(crate) fn at(&self, key: &str) -> Option<&Arc<Kind>> {
        let (end, _) = key.match_indices('/').nth(1)?;
        self.storage_versions.get(&key[..=end])
    }

    /// Returns the storage version of a kind by its place, if it is served or may have objects.
    pub(crate) fn stored(&self, place: &Place) -> Option<&Arc<Kind>> {
        self.storage_versions.get(&place.start(None))
    }

    /// Returns whether a kind is namespaced, or `None` for an unknown kind.
    pub(crate) fn is_namespaced(&self, group: &str, kind: &str) -> Option<bool> {
        let mut all = self.kinds.values().chain(self.storage_versions.values());
        Some(all.find(|one| &*one.group == group && one.names.kind == kind)?.namespaced)
    }

    /// Returns the storage version of a namespaced resource.
    pub(crate) fn in_namespaces(&self, group: &str, plural: &str) -> Option<&Arc<Kind>> {
        let kind = self.named(group, plural).find(|kind| kind.namespaced && kind.review.is_none())?;
        Some(kind.stored.as_ref().unwrap_or(kind))
    }

    /// Returns whether a resource is served in any version.
    pub(crate) fn is_served(&self, group: &str, plural: &str) -> bool {
        self.named(group, plural).next().is_some()
    }

    /// Returns whether a field of a resource, in any version, is a password.
    pub(crate) fn has_passwords(&self, group: &str, plural: &str) -> bool {
        self.named(group, plural).any(|kind| kind.secret_fields().is_some())
    }

    fn named(&self, group: &str, plural: &str) -> impl Iterator<Item = &Arc<Kind>> {
        self.kinds.values().filter(move |kind| &*kind.group == group && kind.names.plural == plural)
    }

    pub(crate) fn kinds(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.kinds.values()
    }

    pub(crate) const fn documents(&self) -> &Documents {
        &self.documents
    }
}
