//! The differences between the desired state of a CNF and the configuration of a pod.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{CollectionId, Desired, Observed, ObservedObject};

/// The differences of one pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Desired objects that are absent or different.
    pub changed: BTreeSet<(CollectionId, String)>,
    /// Own objects that are not desired.
    pub removed: BTreeSet<(CollectionId, String)>,
    /// Ordered collections whose own objects are in another order.
    pub reordered: BTreeSet<CollectionId>,
}

impl Difference {
    /// Returns whether the pod is as desired.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.removed.is_empty() && self.reordered.is_empty()
    }
}

/// Returns the differences of a pod over v2. Secrets of both are MACs of one key.
#[must_use]
pub fn difference(desired: &Desired, observed: &Observed) -> Difference {
    let mut result = Difference::default();
    for collection in CollectionId::all() {
        let (wanted, found) = (desired.of(collection), observed.of(collection));
        let is_own = |one: &&ObservedObject| one.owner.as_ref() == Some(&desired.owner);
        let owned: BTreeMap<_, _> =
            found.iter().filter(is_own).map(|one| (one.object.name(), &one.object)).collect();
        for object in wanted {
            // An object of the name that another client made is adopted.
            if owned.get(object.name()) != Some(&object) {
                result.changed.insert((collection, object.name().to_owned()));
            }
        }
        let names: BTreeSet<_> = wanted.iter().map(|object| object.name()).collect();
        let own: Vec<_> = found.iter().filter(is_own).map(|one| one.object.name()).collect();
        for name in own.iter().filter(|name| !names.contains(*name)) {
            result.removed.insert((collection, (*name).to_owned()));
        }
        if collection.is_ordered() {
            let own: Vec<_> = own.into_iter().filter(|name| names.contains(name)).collect();
            let known: BTreeSet<_> = own.iter().copied().collect();
            let wanted = wanted.iter().map(|object| object.name()).filter(|name| known.contains(name));
            // A new object between others is an insertion, which changes the order too.
            let is_append =
                desired.of(collection).iter().skip(own.len()).all(|one| !known.contains(one.name()));
            if !own.iter().copied().eq(wanted) || !is_append {
                result.reordered.insert(collection);
            }
        }
    }
    result
}
