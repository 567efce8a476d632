//! The configuration of a pod after a v2 write.

use crate::model::{CollectionId, Desired, Observed, ObservedObject, RestObject};

/// Replaces the objects of the owner in a configuration, and adopts those of its names. Foreign
/// objects before the first own one stay before all, the others stay behind.
#[must_use]
pub fn merged(config: &Observed, desired: &Desired) -> Observed {
    let mut result = Observed::default();
    for collection in CollectionId::all() {
        let own = desired.of(collection);
        let names: std::collections::BTreeSet<_> = own.iter().map(RestObject::name).collect();
        let is_own = |one: &ObservedObject| {
            one.owner.as_ref() == Some(&desired.owner) || names.contains(one.object.name())
        };
        let (mut before, mut after, mut has_own) = (Vec::new(), Vec::new(), false);
        for one in config.of(collection) {
            match (is_own(one), has_own) {
                (true, _) => has_own = true,
                (false, false) => before.push(one.clone()),
                (false, true) => after.push(one.clone()),
            }
        }
        let owned = |object: &RestObject| ObservedObject {
            owner: Some(desired.owner.clone()),
            object: object.clone(),
        };
        let objects: Vec<_> = before.into_iter().chain(own.iter().map(owned)).chain(after).collect();
        if !objects.is_empty() {
            result.objects.insert(collection, objects);
        }
    }
    result
}
