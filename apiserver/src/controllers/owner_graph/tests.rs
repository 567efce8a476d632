use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::storage::encode;

/// An owner graph with a revision that each insertion increments.
#[derive(Default)]
struct Harness {
    graph: OwnerGraph,
    now: u64,
}

impl Harness {
    /// Inserts an object `NAMESPACE/NAME` or `/NAME` with its name as UID and this metadata.
    fn put(&mut self, at: &str, metadata: Value) -> Vec<String> {
        self.now += 1;
        let (namespace, name) = at.split_once('/').unwrap();
        let mut object = json!({"metadata": {"uid": name, "namespace": namespace}});
        for (field, value) in metadata.as_object().unwrap() {
            object["metadata"][field] = value.clone();
        }
        let value = encode(object.as_object().unwrap(), 1).into();
        let modified = Revision(self.now);
        texts(self.graph.put(&Entry { key: at.into(), value, created: modified, modified }))
    }

    fn delete(&mut self, at: &str) -> Vec<String> {
        texts(self.graph.delete(&at.into()))
    }

    #[track_caller]
    fn check(&self, at: &str, expected: Option<DueAction>) {
        assert_eq!(self.graph.next_action(&at.into(), namespaced), expected, "{at}");
    }
}

/// Things are namespaced, zones are not, and other kinds are unknown.
fn namespaced(group: &str, kind: &str) -> Option<bool> {
    match (group, kind) {
        ("g", "Thing") => Some(true),
        ("g", "Zone") => Some(false),
        _ => None,
    }
}

fn texts(keys: Vec<Key>) -> Vec<String> {
    keys.iter().map(ToString::to_string).collect()
}

fn owner(kind: &str, uid: &str, blocks: bool) -> Value {
    json!({"apiVersion": "g/v1", "kind": kind, "name": "x", "uid": uid, "blockOwnerDeletion": blocks})
}

fn of(owners: &[&str]) -> Value {
    json!({"ownerReferences": owners.iter().map(|uid| owner("Thing", uid, true)).collect::<Vec<_>>()})
}

fn held(by: &str, owners: &[&str]) -> Value {
    let mut metadata = of(owners);
    metadata["deletionTimestamp"] = "2026-11-21T09:00:00Z".into();
    metadata["finalizers"] = json!([by]);
    metadata
}

const DELETED: Option<DueAction> = Some(DueAction::Delete(None));

fn disown(uids: &[&str]) -> Option<DueAction> {
    Some(DueAction::Disown(uids.iter().map(ToString::to_string).collect()))
}

#[test]
fn an_object_without_remaining_owners_is_deleted() {
    let mut harness = Harness::default();
    harness.put("n/a", json!({}));
    harness.put("n/b", json!({}));
    assert_eq!(harness.put("n/c", of(&["a", "b"])), ["n/c"]);
    harness.check("n/c", None);
    assert_eq!(harness.delete("n/a"), ["n/c"]);
    harness.check("n/c", disown(&["a"]));
    harness.delete("n/b");
    harness.check("n/c", DELETED);
    harness.put(
        "n/c",
        json!({"deletionTimestamp": "2026-11-21T09:00:00Z", "ownerReferences": [owner("Thing", "a", true)]}),
    );
    harness.check("n/c", None);
}

#[test]
fn a_recreated_owner_with_another_uid_owns_nothing() {
    let mut harness = Harness::default();
    harness.put("n/a", json!({"uid": "first"}));
    harness.put("n/b", of(&["first"]));
    assert_eq!(harness.put("n/a", json!({"uid": "second"})), ["n/b"]);
    harness.check("n/b", DELETED);
}

#[test]
fn an_owner_in_another_namespace_is_ignored() {
    let mut harness = Harness::default();
    harness.put("m/a", json!({}));
    harness.put("/zone", json!({}));
    harness.put("n/b", of(&["a"]));
    harness.check("n/b", DELETED);
    harness.put("n/c", json!({"ownerReferences": [owner("Zone", "zone", true)]}));
    harness.check("n/c", None);
    harness.delete("/zone");
    harness.check("n/c", DELETED);
}

#[test]
fn a_dependent_of_an_unknown_owner_is_kept() {
    let mut harness = Harness::default();
    // A cluster-scoped object with a namespaced owner.
    harness.put("n/a", json!({}));
    harness.put("/b", of(&["a"]));
    harness.check("/b", None);
    harness.delete("n/a");
    harness.check("/b", None);
    // An owner of an unknown kind counts as present until its deletion was seen.
    harness.put("n/c", json!({}));
    let strange = json!({"ownerReferences": [owner("Strange", "c", true), owner("Strange", "never", true)]});
    harness.put("n/d", strange);
    harness.check("n/d", None);
    harness.put("n/e", json!({"ownerReferences": [owner("Strange", "c", true)]}));
    harness.delete("n/c");
    harness.check("n/d", None);
    harness.check("n/e", DELETED);
}

#[test]
fn foreground_deletion_waits_for_all_dependents() {
    let mut harness = Harness::default();
    harness.put("n/a", json!({}));
    harness.put("n/b", of(&["a"]));
    harness.put("n/c", of(&["b"]));
    assert_eq!(harness.put("n/a", held(FOREGROUND, &[])), ["n/b", "n/a"]);
    harness.check("n/a", None);
    harness.check("n/b", Some(DueAction::Delete(Some(Propagation::Foreground))));
    assert_eq!(harness.put("n/b", held(FOREGROUND, &["a"])), ["n/a", "n/c", "n/b"]);
    harness.check("n/c", DELETED);
    assert_eq!(harness.delete("n/c"), ["n/b"]);
    harness.check("n/b", Some(DueAction::Release(FOREGROUND)));
    assert_eq!(harness.delete("n/b"), ["n/a"]);
    harness.check("n/a", Some(DueAction::Release(FOREGROUND)));
}

#[test]
fn foreground_deletion_ignores_non_blocking_dependents() {
    let mut harness = Harness::default();
    harness.put("n/b", json!({"ownerReferences": [owner("Thing", "a", false)]}));
    harness.put("m/c", of(&["a"]));
    harness.put("n/a", held(FOREGROUND, &["a"]));
    harness.check("n/a", Some(DueAction::Release(FOREGROUND)));
}

#[test]
fn a_dependent_with_another_owner_survives_foreground_deletion() {
    let mut harness = Harness::default();
    harness.put("n/a", held(FOREGROUND, &[]));
    harness.put("n/b", json!({}));
    harness.put("n/c", of(&["a", "b"]));
    harness.check("n/c", disown(&["a"]));
}

#[test]
fn a_cycle_in_foreground_deletion_is_broken() {
    let mut harness = Harness::default();
    harness.put("n/b", of(&["a"]));
    harness.put("n/a", held(FOREGROUND, &["b"]));
    harness.check("n/b", Some(DueAction::Unblock));
    harness.put("n/b", json!({"ownerReferences": [owner("Thing", "a", false)]}));
    harness.check("n/b", Some(DueAction::Delete(Some(Propagation::Foreground))));
    harness.check("n/a", Some(DueAction::Release(FOREGROUND)));
}

#[test]
fn orphaning_releases_dependents_first() {
    let mut harness = Harness::default();
    harness.put("n/b", of(&["a"]));
    assert_eq!(harness.put("n/a", held(ORPHAN, &[])), ["n/b", "n/a"]);
    harness.check("n/a", None);
    harness.check("n/b", disown(&["a"]));
    assert_eq!(harness.put("n/b", json!({})), ["n/a"]);
    harness.check("n/a", Some(DueAction::Release(ORPHAN)));
}

#[test]
fn removed_objects_leave_nothing_in_the_graph() {
    let mut harness = Harness::default();
    harness.put("n/a", json!({}));
    harness.put("n/b", of(&["a", "z"]));
    harness.delete("n/a");
    harness.delete("n/b");
    let OwnerGraph { nodes, by_uid, dependents, deleted_owners } = harness.graph;
    assert!(nodes.is_empty() && by_uid.is_empty() && dependents.is_empty() && deleted_owners.is_empty());
    let broken = Arc::new(Entry {
        key: "k".into(),
        value: vec![9].into(),
        created: Revision(1),
        modified: Revision(1),
    });
    assert_eq!(OwnerGraph::default().put(&broken), Vec::<Key>::new());
}
