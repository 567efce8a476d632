//! All kinds that are served at one moment. Replaced whole.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Kind;
use crate::documents::Documents;

/// Which kinds are served, by path.
pub(crate) struct Registry {
    kinds: BTreeMap<Path, Arc<Kind>>,
    documents: Documents,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Path {
    group: Arc<str>,
    version: Arc<str>,
    plural: Arc<str>,
}

impl Registry {
    /// Of these kinds; what is rendered of those that were there before is taken over.
    pub(crate) fn new(kinds: impl IntoIterator<Item = Arc<Kind>>, previous: Option<&Self>) -> Self {
        let path = |kind: &Kind| Path {
            group: kind.group.clone(),
            version: kind.version.clone(),
            plural: kind.names.plural.as_str().into(),
        };
        let kinds: BTreeMap<Path, Arc<Kind>> = kinds.into_iter().map(|kind| (path(&kind), kind)).collect();
        let documents = Documents::of(kinds.values(), previous.map(|previous| &previous.documents));
        Self { kinds, documents }
    }

    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Kind>> {
        self.kinds.get(&Path { group: group.into(), version: version.into(), plural: plural.into() })
    }

    /// A kind in the version that is stored.
    pub(crate) fn stored(&self, group: &str, plural: &str) -> Option<&Arc<Kind>> {
        let mut of = self.kinds.values().filter(|kind| &*kind.group == group && kind.names.plural == plural);
        of.next().map(|kind| kind.stored.as_ref().unwrap_or(kind))
    }

    /// Each kind that is stored once, in the version that is.
    pub(crate) fn homes(&self) -> impl Iterator<Item = &Arc<Kind>> {
        let stored = self.kinds.values().filter(|kind| kind.review.is_none());
        let homes = stored.map(|kind| kind.stored.as_ref().unwrap_or(kind));
        homes.map(|kind| (&kind.place, kind)).collect::<BTreeMap<_, _>>().into_values()
    }

    pub(crate) fn kinds(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.kinds.values()
    }

    pub(crate) const fn documents(&self) -> &Documents {
        &self.documents
    }
}
