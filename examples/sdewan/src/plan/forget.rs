//! A desired state without objects that a CNF refuses.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{CollectionId, Desired, references};

/// An object by collection and name.
type Place = (CollectionId, String);

/// Leaves objects out of a desired state, and their dependents; returns each omitted object with
/// the one at the root: the refused object itself, or that on which it depends.
#[must_use]
pub fn without(
    desired: &Desired,
    refused: &BTreeSet<Place>,
    is_foreign: &dyn Fn(CollectionId, &str) -> bool,
) -> (Desired, BTreeMap<Place, Place>) {
    let mut omitted: BTreeMap<Place, Place> = BTreeMap::new();
    let mut kept = Desired { owner: desired.owner.clone(), objects: BTreeMap::new() };
    // References are to earlier collections only, so one pass is enough.
    for (collection, objects) in &desired.objects {
        for object in objects {
            let place = (*collection, object.name().to_owned());
            let cause = if refused.contains(&place) {
                Some(place.clone())
            } else {
                references(object).into_iter().find_map(|(target, name)| {
                    let root = omitted.get(&(target, name.clone()))?;
                    (!is_foreign(target, &name)).then(|| root.clone())
                })
            };
            match cause {
                Some(cause) => drop(omitted.insert(place, cause)),
                None => kept.objects.entry(*collection).or_default().push(object.clone()),
            }
        }
    }
    (kept, omitted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RestObject;
    use serde_json::json;

    #[test]
    fn dependents_of_a_refused_object_are_left_out() {
        let object = |collection, body| RestObject::from_body(collection, body).unwrap();
        let policies = vec![
            object(CollectionId::Policies, json!({"name": "p"})),
            object(CollectionId::Policies, json!({"name": "q"})),
        ];
        let rules = vec![
            object(CollectionId::Mwan3Rules, json!({"name": "r1", "policy": "p"})),
            object(CollectionId::Mwan3Rules, json!({"name": "r2", "policy": "q"})),
        ];
        let objects = [(CollectionId::Policies, policies), (CollectionId::Mwan3Rules, rules)].into();
        let desired = Desired { owner: "o".into(), objects };
        let p = (CollectionId::Policies, "p".to_owned());
        let (kept, omitted) = without(&desired, &[p.clone()].into(), &|_, _| false);
        assert_eq!(kept.len(), 2);
        assert_eq!(omitted.get(&(CollectionId::Mwan3Rules, "r1".into())), Some(&p));
        assert_eq!(kept.of(CollectionId::Mwan3Rules)[0].name(), "r2");
    }
}
