//! Objects that stay in a CNF because it refuses to remove them.

use std::collections::BTreeMap;

use super::forget::Place;
use crate::model::{Desired, Observed, ObservedObject, RestObject, references};

/// Adds own objects of a configuration to a desired state, as they are, with the own objects to
/// which these refer; returns each added object with the one of `places` that is the reason.
///
/// Objects with secrets are not added: v2 answers no secret that could be sent again. No object
/// with secrets is one to which others refer.
#[must_use]
pub fn retain<'a>(
    desired: &mut Desired,
    config: &Observed,
    places: impl IntoIterator<Item = &'a Place>,
) -> BTreeMap<Place, Place> {
    let mut retained = BTreeMap::new();
    let mut waiting: Vec<(Place, Place)> =
        places.into_iter().map(|place| (place.clone(), place.clone())).collect();
    while let Some((place, root)) = waiting.pop() {
        let (collection, name) = &place;
        if desired.of(*collection).iter().any(|object| object.name() == name) {
            continue;
        }
        let found = config.get(*collection, name);
        let owned = found.filter(|one| one.owner.as_ref() == Some(&desired.owner) && !has_secrets(one));
        let Some(ObservedObject { object, .. }) = owned else { continue };
        waiting.extend(references(object).into_iter().map(|target| (target, root.clone())));
        desired.objects.entry(*collection).or_default().push(object.clone());
        retained.insert(place, root);
    }
    retained
}

/// Returns the objects of others that refer to an object, for messages: `rule "theirs"`.
#[must_use]
pub fn foreign_users(owner: &str, config: &Observed, place: &Place) -> Vec<String> {
    let uses = |one: &&ObservedObject| {
        one.owner.as_deref() != Some(owner) && references(&one.object).contains(place)
    };
    let shown = |object: &RestObject| format!("{} {:?}", object.collection().row().noun, object.name());
    config.objects.values().flatten().filter(uses).map(|one| shown(&one.object)).collect()
}

fn has_secrets(one: &ObservedObject) -> bool {
    let fields = one.object.collection().fields().iter();
    let mut secrets = fields.filter(|field| field.is_secret).filter_map(|field| field.rest_name());
    secrets.any(|name| one.object.fields().contains_key(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::CollectionId;
    use serde_json::{Value, json};

    fn observed(owner: Option<&str>, collection: CollectionId, body: Value) -> ObservedObject {
        let object = RestObject::from_body(collection, body).unwrap();
        ObservedObject { owner: owner.map(str::to_owned), object }
    }

    fn config(objects: Vec<ObservedObject>) -> Observed {
        let mut config = Observed::default();
        for one in objects {
            config.objects.entry(one.object.collection()).or_default().push(one);
        }
        config
    }

    #[test]
    fn an_object_is_retained_with_those_to_which_it_refers() {
        let config = config(vec![
            observed(Some("o"), CollectionId::Policies, json!({"name": "p"})),
            observed(Some("o"), CollectionId::Policies, json!({"name": "q"})),
            observed(Some("o"), CollectionId::Mwan3Rules, json!({"name": "r", "policy": "p"})),
            observed(None, CollectionId::Mwan3Rules, json!({"name": "theirs", "policy": "q"})),
        ]);
        let (p, q) = ((CollectionId::Policies, "p".to_owned()), (CollectionId::Policies, "q".to_owned()));
        let r = (CollectionId::Mwan3Rules, "r".to_owned());
        let theirs = (CollectionId::Mwan3Rules, "theirs".to_owned());
        let mut desired = Desired { owner: "o".into(), ..Desired::default() };
        let retained = retain(&mut desired, &config, [&r, &theirs]);
        assert_eq!(retained, [(p.clone(), r.clone()), (r.clone(), r)].into());
        assert_eq!(desired.of(CollectionId::Policies)[0].name(), "p");
        assert_eq!(desired.len(), 2);
        assert_eq!(foreign_users("o", &config, &q), ["rule \"theirs\""]);
        assert!(foreign_users("o", &config, &p).is_empty());
    }

    #[test]
    fn an_object_with_secrets_is_not_retained() {
        let body = json!({"name": "hub", "gateway": "%any", "pre_shared_key": "hmac:00"});
        let config = config(vec![observed(Some("o"), CollectionId::Remotes, body)]);
        let mut desired = Desired { owner: "o".into(), ..Desired::default() };
        let hub = (CollectionId::Remotes, "hub".to_owned());
        assert!(retain(&mut desired, &config, [&hub]).is_empty() && desired.is_empty());
    }

    #[test]
    fn a_collection_to_which_others_refer_has_no_secrets() {
        for collection in CollectionId::all().filter(|collection| !collection.users().is_empty()) {
            assert!(collection.fields().iter().all(|field| !field.is_secret), "{collection}");
        }
    }
}
