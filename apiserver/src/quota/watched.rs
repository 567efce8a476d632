//! The namespaces and kinds that quotas count.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The namespaces with countable quotas, and the key prefixes of the objects that they count.
#[derive(Default)]
pub(crate) struct Watched {
    /// The key prefix of quotas.
    quotas: Arc<str>,
    by_namespace: BTreeMap<String, BTreeSet<Arc<str>>>,
}

impl Watched {
    /// Creates an empty set.
    pub(crate) fn new(quotas: Arc<str>) -> Self {
        Self { quotas, by_namespace: BTreeMap::new() }
    }

    /// Returns whether no namespace has counted kinds.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_namespace.is_empty()
    }

    /// Sets the counted key prefixes of a namespace.
    pub(crate) fn set(&mut self, namespace: &str, counted: BTreeSet<Arc<str>>) {
        if counted.is_empty() {
            self.by_namespace.remove(namespace);
        } else {
            self.by_namespace.insert(namespace.to_owned(), counted);
        }
    }

    /// Forgets all namespaces.
    pub(crate) fn clear(&mut self) {
        self.by_namespace.clear();
    }

    /// The namespace in which a count may have changed with this key.
    pub(crate) fn concerned<'k>(&self, key: &'k str) -> Option<&'k str> {
        let (start, _) = key.match_indices('/').nth(1)?;
        let (start, names) = key.split_at(start + 1);
        let (namespace, _) = names.split_once('/')?;
        let counts = || self.by_namespace.get(namespace).is_some_and(|counted| counted.contains(start));
        (*start == *self.quotas || counts()).then_some(namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_counted_kinds_in_their_namespaces_are_watched() {
        let mut watched = Watched::new("core/resourcequotas/".into());
        let check = |watched: &Watched, key: &str, expected: Option<&str>| {
            assert_eq!(watched.concerned(key), expected, "{key}");
        };
        assert!(watched.is_empty());
        watched.set("shop", BTreeSet::from(["core/secrets/".into(), "example.com/widgets/".into()]));
        watched.set("empty", BTreeSet::new());
        check(&watched, "core/secrets/shop/a", Some("shop"));
        check(&watched, "example.com/widgets/shop/a", Some("shop"));
        check(&watched, "core/configmaps/shop/a", None);
        check(&watched, "core/secrets/other/a", None);
        check(&watched, "core/namespaces/shop", None);
        check(&watched, "/quotas/shop", None);
        check(&watched, "/guards/core/secrets/shop/=a", None);
        check(&watched, "core/resourcequotas/other/a", Some("other"));
        watched.set("shop", BTreeSet::new());
        check(&watched, "core/secrets/shop/a", None);
        assert!(watched.is_empty());
    }
}
