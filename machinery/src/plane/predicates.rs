//! Predicates of users, and the events that pass them regardless. Pure.

use std::sync::Arc;

use machinery_objects::{Event, Kind, NameError, Object, ObjectKey, Scope};
use machinery_sync::contained;

/// Wraps a predicate so that deletions, deletion timestamps, changes of UID and of finalizers
/// always pass; otherwise a finalizer might never be removed.
pub(super) fn deliver_finalizer_events<O: Object>(
    predicate: impl Fn(&Event<Arc<O>>) -> bool + Send + Sync + 'static,
) -> impl Fn(&Event<Arc<O>>) -> bool + Send + Sync + 'static {
    move |event| must_deliver(event) || predicate(event)
}

fn must_deliver<O: Object>(event: &Event<Arc<O>>) -> bool {
    match event {
        // The mark may have been set while no informer ran: no later event reports it.
        Event::Added { object, .. } => object.is_deleting(),
        Event::Updated { old, object } => {
            old.uid() != object.uid()
                || old.is_deleting() != object.is_deleting()
                || old.finalizers() != object.finalizers()
        }
        _ => true,
    }
}

/// Evaluates a predicate; a panic counts as `true`.
pub(super) fn evaluate<E>(predicate: &impl Fn(&E) -> bool, event: &E) -> bool {
    contained(|| predicate(event)).unwrap_or_else(|panic| {
        tracing::error!(%panic, "a predicate panicked on an event, which passes");
        true
    })
}

/// Returns a map function to the present and former owners of a kind. A change of owners always
/// passes the predicate.
pub(super) fn owners<O: Object>(
    owner: Kind,
    predicate: impl Fn(&Event<Arc<O>>) -> bool + Send + Sync + 'static,
) -> impl Fn(&Event<Arc<O>>) -> Vec<ObjectKey> + Send + Sync + 'static {
    let predicate = deliver_finalizer_events(predicate);
    move |event| {
        let mut keys = owned_by(&owner, &**event.object());
        let before = match event {
            Event::Updated { old, .. } => owned_by(&owner, &**old),
            _ => keys.clone(),
        };
        if keys == before && !evaluate(&predicate, event) {
            return Vec::new();
        }
        keys.extend(before);
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

/// Returns the controlling owners of an object. References with an invalid name are skipped.
pub(super) fn owned_by(owner: &Kind, object: &impl Object) -> Vec<ObjectKey> {
    let key = object.key();
    let namespace = key.namespace().filter(|_| owner.scope() == Scope::Namespaced);
    let controllers =
        object.owners().into_iter().filter(|reference| reference.controller && reference.is_a(owner));
    let keys = controllers.map(|reference| ObjectKey::new(namespace, &reference.name));
    keys.filter_map(Result::<_, NameError>::ok).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::{Value, json};

    fn map(meta: Value) -> Arc<ConfigMap> {
        let mut meta = meta;
        meta["name"] = "a".into();
        Arc::new(serde_json::from_value(json!({ "metadata": meta })).unwrap())
    }

    #[test]
    fn deletions_and_finalizer_changes_pass_every_predicate() {
        let never = deliver_finalizer_events(|_: &Event<Arc<ConfigMap>>| false);
        let deleting = json!({ "deletionTimestamp": "2026-11-21T09:30:38Z" });
        let predicate = |old: Value, new: Value| never(&Event::Updated { old: map(old), object: map(new) });
        assert!(!never(&Event::Added { object: map(json!({})), initial: true }));
        assert!(!predicate(json!({ "labels": { "a": "b" } }), json!({})));
        assert!(!predicate(deleting.clone(), deleting.clone()));
        assert!(never(&Event::Added { object: map(deleting.clone()), initial: true }));
        assert!(predicate(json!({}), deleting));
        assert!(predicate(json!({ "finalizers": ["x/y"] }), json!({})));
        assert!(predicate(json!({ "uid": "1" }), json!({ "uid": "2" })));
        assert!(never(&Event::Deleted { last: map(json!({})), final_state_known: true }));
    }

    #[test]
    fn a_former_owner_runs_whatever_the_predicate_returns() {
        let owner = Kind::of::<k8s_openapi::api::core::v1::Secret>().unwrap();
        let map_keys = owners(owner.clone(), |_: &Event<Arc<ConfigMap>>| false);
        let of = |name: &str| {
            let owner = json!({ "apiVersion": "v1", "kind": "Secret", "name": name, "uid": name, "controller": true });
            map(json!({ "namespace": "n", "ownerReferences": [owner] }))
        };
        let mapped = |old: &str, new: &str| {
            let keys = map_keys(&Event::Updated { old: of(old), object: of(new) });
            keys.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(mapped("one", "two"), ["n/one", "n/two"]);
        assert!(mapped("one", "one").is_empty());
        let panics = owners(owner.clone(), |_: &Event<Arc<ConfigMap>>| panic!("on purpose"));
        assert_eq!(panics(&Event::Added { object: of("one"), initial: true }), ["n/one".parse().unwrap()]);
        let gone = map_keys(&Event::Deleted { last: of("one"), final_state_known: true });
        assert_eq!(gone, ["n/one".parse().unwrap()]);
    }
}
