use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::storage::encode;

/// An owner graph with a revision that each insertion increments.
#[derive(Default)]
struct Town {
    family: Family,
    now: u64,
}

impl Town {
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
        texts(self.family.put(&Entry { key: at.into(), value, created: modified, modified }))
    }

    fn delete(&mut self, at: &str) -> Vec<String> {
        texts(self.family.delete(&at.into()))
    }

    #[track_caller]
    fn check(&self, at: &str, expected: Option<Due>) {
        assert_eq!(self.family.due(&at.into(), namespaced), expected, "{at}");
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

const GOES: Option<Due> = Some(Due::Delete(None));

fn disown(uids: &[&str]) -> Option<Due> {
    Some(Due::Disown(uids.iter().map(ToString::to_string).collect()))
}

#[test]
fn who_has_no_owner_left_goes() {
    let mut town = Town::default();
    town.put("n/a", json!({}));
    town.put("n/b", json!({}));
    assert_eq!(town.put("n/c", of(&["a", "b"])), ["n/c"]);
    town.check("n/c", None);
    assert_eq!(town.delete("n/a"), ["n/c"]);
    town.check("n/c", disown(&["a"]));
    town.delete("n/b");
    town.check("n/c", GOES);
    town.put(
        "n/c",
        json!({"deletionTimestamp": "2026-11-21T09:00:00Z", "ownerReferences": [owner("Thing", "a", true)]}),
    );
    town.check("n/c", None);
}

#[test]
fn another_one_under_the_same_name_owns_nothing() {
    let mut town = Town::default();
    town.put("n/a", json!({"uid": "first"}));
    town.put("n/b", of(&["first"]));
    assert_eq!(town.put("n/a", json!({"uid": "second"})), ["n/b"]);
    town.check("n/b", GOES);
}

#[test]
fn an_owner_in_another_namespace_is_none() {
    let mut town = Town::default();
    town.put("m/a", json!({}));
    town.put("/zone", json!({}));
    town.put("n/b", of(&["a"]));
    town.check("n/b", GOES);
    town.put("n/c", json!({"ownerReferences": [owner("Zone", "zone", true)]}));
    town.check("n/c", None);
    town.delete("/zone");
    town.check("n/c", GOES);
}

#[test]
fn whose_owner_cannot_be_told_stays() {
    let mut town = Town::default();
    // A cluster-scoped object with a namespaced owner.
    town.put("n/a", json!({}));
    town.put("/b", of(&["a"]));
    town.check("/b", None);
    town.delete("n/a");
    town.check("/b", None);
    // An owner of an unknown kind counts as present until its deletion was seen.
    town.put("n/c", json!({}));
    let strange = json!({"ownerReferences": [owner("Strange", "c", true), owner("Strange", "never", true)]});
    town.put("n/d", strange);
    town.check("n/d", None);
    town.put("n/e", json!({"ownerReferences": [owner("Strange", "c", true)]}));
    town.delete("n/c");
    town.check("n/d", None);
    town.check("n/e", GOES);
}

#[test]
fn who_waits_goes_after_what_it_owns_and_what_that_owns() {
    let mut town = Town::default();
    town.put("n/a", json!({}));
    town.put("n/b", of(&["a"]));
    town.put("n/c", of(&["b"]));
    assert_eq!(town.put("n/a", held(FOREGROUND, &[])), ["n/b", "n/a"]);
    town.check("n/a", None);
    town.check("n/b", Some(Due::Delete(Some(Propagation::Foreground))));
    assert_eq!(town.put("n/b", held(FOREGROUND, &["a"])), ["n/a", "n/c", "n/b"]);
    town.check("n/c", GOES);
    assert_eq!(town.delete("n/c"), ["n/b"]);
    town.check("n/b", Some(Due::Release(FOREGROUND)));
    assert_eq!(town.delete("n/b"), ["n/a"]);
    town.check("n/a", Some(Due::Release(FOREGROUND)));
}

#[test]
fn who_waits_does_not_wait_for_what_does_not_block() {
    let mut town = Town::default();
    town.put("n/b", json!({"ownerReferences": [owner("Thing", "a", false)]}));
    town.put("m/c", of(&["a"]));
    town.put("n/a", held(FOREGROUND, &["a"]));
    town.check("n/a", Some(Due::Release(FOREGROUND)));
}

#[test]
fn who_has_another_owner_stays_when_one_waits() {
    let mut town = Town::default();
    town.put("n/a", held(FOREGROUND, &[]));
    town.put("n/b", json!({}));
    town.put("n/c", of(&["a", "b"]));
    town.check("n/c", disown(&["a"]));
}

#[test]
fn a_circle_of_those_who_wait_is_opened() {
    let mut town = Town::default();
    town.put("n/b", of(&["a"]));
    town.put("n/a", held(FOREGROUND, &["b"]));
    town.check("n/b", Some(Due::Unblock));
    town.put("n/b", json!({"ownerReferences": [owner("Thing", "a", false)]}));
    town.check("n/b", Some(Due::Delete(Some(Propagation::Foreground))));
    town.check("n/a", Some(Due::Release(FOREGROUND)));
}

#[test]
fn who_leaves_lets_go_of_what_it_owns_first() {
    let mut town = Town::default();
    town.put("n/b", of(&["a"]));
    assert_eq!(town.put("n/a", held(ORPHAN, &[])), ["n/b", "n/a"]);
    town.check("n/a", None);
    town.check("n/b", disown(&["a"]));
    assert_eq!(town.put("n/b", json!({})), ["n/a"]);
    town.check("n/a", Some(Due::Release(ORPHAN)));
}

#[test]
fn what_is_forgotten_takes_no_room() {
    let mut town = Town::default();
    town.put("n/a", json!({}));
    town.put("n/b", of(&["a", "z"]));
    town.delete("n/a");
    town.delete("n/b");
    let Family { members, by_uid, owned, gone } = town.family;
    assert!(members.is_empty() && by_uid.is_empty() && owned.is_empty() && gone.is_empty());
    let broken = Arc::new(Entry {
        key: "k".into(),
        value: vec![9].into(),
        created: Revision(1),
        modified: Revision(1),
    });
    assert_eq!(Family::default().put(&broken), Vec::<Key>::new());
}
