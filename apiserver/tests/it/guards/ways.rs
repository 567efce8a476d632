//! All paths on which objects are created, changed and deleted: each runs the guard, and updates
//! its records.

use std::sync::Arc;

use http::Method;
use machinery_apiserver::{ApiServer, KindOf, StartError};
use machinery_objects::{
    Deleted, Deletion, InvalidField, Patch, PatchFormat, Preconditions, Revision, Writer,
};
use machinery_store::{Memory, Options};
use serde_json::{Value, json};

use super::subnet::{
    Auditor, GuardCalls, PATH, Subnet, SubnetStatus, is_in_the_way, key, keys, posted, records, subnet,
    subnets, subnets_of, two, unguarded,
};
use crate::client::Client;
use crate::controllers::gone;
use crate::interposed::Interposed;

const RECORD: &str = "/guards/example.com/subnets/disjoint/=vni/1";

fn merge(status: bool, body: &Value) -> Patch {
    Patch { format: PatchFormat::Merge, body: body.to_string().into_bytes().into(), status }
}

fn freed() -> Patch {
    merge(false, &json!({"metadata": {"finalizers": null}}))
}

#[tokio::test]
async fn a_conflict_between_check_and_commit_is_detected() {
    for way in 0..6 {
        let store = Interposed::over(Memory::new(Options::default()));
        let (_servers, [handle, _], asked) = two(&store).await;
        let other = ApiServer::builder(store.inner.clone()).kind(subnets(&asked)).start().await.unwrap();
        let other = subnets_of(&other);
        let none = Preconditions::default();
        handle.create(&subnet("a", &[1], 100, 110), None).await.unwrap();
        let moved = handle.create(&subnet("d", &[2], 1, 2), None).await.unwrap().object;
        if way == 5 {
            // The network is empty.
            handle.update(&subnet("a", &[3], 0, 10), &none).await.unwrap();
        }
        store
            .before(RECORD, async move { drop(other.create(&subnet("b", &[1], 0, 10), None).await.unwrap()) })
            .await;
        let patched = async |body: Value| handle.patch(&key("a"), &merge(false, &body), &none).await;
        let found = match way {
            0 => handle.create(&subnet("c", &[1], 5, 20), None).await,
            1 => handle.update(&subnet("a", &[1], 5, 20), &none).await,
            2 => patched(json!({"spec": {"from": 5}})).await,
            3 => {
                let mut moved = moved;
                moved.spec.vnis = vec![2, 1];
                handle.update(&moved, &none).await
            }
            4 => patched(json!({"spec": {"vnis": [1, 3], "from": 0}})).await,
            _ => patched(json!({"spec": {"vnis": [1]}})).await,
        };
        is_in_the_way(found);
        assert_eq!(store.tried(), 1, "way {way}: the one that was too late");
        Auditor::default().audit(&store.inner, Revision(1)).await;
    }
}

#[tokio::test]
async fn a_status_is_checked_too() {
    let store = Memory::new(Options::default());
    let (_servers, [a, b], _) = two(&store).await;
    a.create(&subnet("a", &[1], 0, 10), None).await.unwrap();
    b.create(&subnet("b", &[1], 20, 30), None).await.unwrap();
    let grown = |to| Subnet { status: Some(SubnetStatus { grown_to: to }), ..subnet("a", &[1], 0, 10) };
    b.update_status(&grown(19), &Preconditions::default()).await.unwrap();
    is_in_the_way(a.update_status(&grown(20), &Preconditions::default()).await);
    is_in_the_way(a.create(&subnet("c", &[1], 15, 16), None).await);
    let patch = merge(true, &json!({"status": {"grown_to": 25}}));
    is_in_the_way(b.patch(&key("a"), &patch, &Preconditions::default()).await);
}

#[tokio::test]
async fn guard_records_are_deleted_with_their_last_object() {
    let store = Memory::new(Options::default());
    let (servers, [a, b], _) = two(&store).await;
    let client = Client::of(&servers[0]);
    let none = Preconditions::default();

    let namespace = json!({"metadata": {"name": "n"}});
    client.post("/api/v1/namespaces", &namespace).await.fine();
    let mut inside = subnet("inside", &[1, 2], 0, 10);
    inside.metadata.namespace = "n".into();
    a.create(&inside, None).await.unwrap();
    is_in_the_way(b.create(&subnet("a", &[2], 5, 6), None).await);
    assert_eq!(records(&store).await, 2);
    client.delete("/api/v1/namespaces/n").await.fine();
    gone(&client, "/api/v1/namespaces/n").await;
    assert_eq!(records(&store).await, 0, "with a namespace");

    let maps = "/api/v1/namespaces/default/configmaps";
    let owner = client.post(maps, &json!({"metadata": {"name": "o"}})).await.fine();
    let uid = owner["metadata"]["uid"].clone();
    let reference = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": uid}]);
    let mut owned = subnet("owned", &[3], 0, 10);
    owned.metadata.owner_references = Some(reference);
    a.create(&owned, None).await.unwrap();
    client.delete(&format!("{maps}/o")).await.fine();
    gone(&client, &format!("{PATH}/owned")).await;
    assert_eq!(records(&store).await, 0, "with an owner");

    for (name, vni, from) in [("a", 4, 0), ("b", 4, 20), ("c", 5, 0)] {
        a.create(&subnet(name, &[vni], from, from + 10), None).await.unwrap();
    }
    client.delete(PATH).await.fine();
    assert_eq!(records(&store).await, 0, "with all the others");

    let mut held = subnet("held", &[6], 0, 10);
    held.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    a.create(&held, None).await.unwrap();
    assert!(matches!(b.delete(&key("held"), &Deletion::default()).await.unwrap(), Deleted::Marked(_)));
    assert_eq!(records(&store).await, 1);
    a.patch(&key("held"), &freed(), &none).await.unwrap();
    assert_eq!(records(&store).await, 0, "with a finalizer");

    a.create(&subnet("moved", &[7, 8], 0, 10), None).await.unwrap();
    b.update(&subnet("moved", &[9], 0, 10), &none).await.unwrap();
    assert_eq!(records(&store).await, 1, "to another network");
    b.update(&subnet("moved", &[], 0, 10), &none).await.unwrap();
    assert_eq!(records(&store).await, 0, "to none");
    Auditor::default().audit(&store, Revision(1)).await;
}

#[tokio::test]
async fn an_object_counts_until_its_deletion_completes() {
    let store = Memory::new(Options::default());
    let (_servers, [a, b], _) = two(&store).await;
    let none = Preconditions::default();
    let mut held = subnet("held", &[1], 0, 10);
    held.metadata.finalizers = Some(vec!["example.com/hold".into(), "example.com/more".into()]);
    a.create(&held, None).await.unwrap();
    b.create(&subnet("b", &[1], 20, 30), None).await.unwrap();
    a.delete(&key("held"), &Deletion::default()).await.unwrap();
    is_in_the_way(b.create(&subnet("c", &[1], 5, 6), None).await);
    let grow = merge(true, &json!({"status": {"grown_to": 25}}));
    is_in_the_way(b.patch(&key("held"), &grow, &none).await);
    let less = merge(false, &json!({"metadata": {"finalizers": ["example.com/more"]}}));
    b.patch(&key("held"), &less, &none).await.unwrap();
    b.patch(&key("held"), &freed(), &none).await.unwrap();
    b.create(&subnet("c", &[1], 5, 6), None).await.unwrap();
}

#[tokio::test]
async fn a_new_guard_applies_to_existing_objects() {
    let store = Memory::new(Options::default());
    let before = ApiServer::builder(store.clone()).kind(unguarded()).start().await.unwrap();
    let handle = subnets_of(&before);
    let mut held = subnet("a", &[1], 0, 10);
    held.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    handle.create(&held, None).await.unwrap();
    handle.create(&subnet("b", &[1], 5, 20), None).await.unwrap();
    before.stop().await;

    let (_servers, [a, b], _) = two(&store).await;
    let none = Preconditions::default();
    is_in_the_way(a.create(&subnet("c", &[1], 15, 16), None).await);
    is_in_the_way(b.update(&subnet("b", &[1], 6, 20), &none).await);
    // The conflicting object can be deleted.
    a.delete(&key("a"), &Deletion::default()).await.unwrap();
    a.patch(&key("a"), &freed(), &none).await.unwrap();
    b.update(&subnet("b", &[1], 6, 20), &none).await.unwrap();
    a.delete(&key("b"), &Deletion::default()).await.unwrap();
    assert_eq!(records(&store).await, 0);
}

/// A child needs a parent under its key.
fn children() -> KindOf<Subnet> {
    unguarded().guard("disjoint", keys, |subnet: &Subnet, others: &[Arc<Subnet>]| {
        let alone = subnet.spec.from > 0 && others.is_empty();
        let wrong = InvalidField { field: "spec.from".into(), reason: "it has no parent".into() };
        alone.then_some(wrong).into_iter().collect()
    })
}

/// A parent that is older than the guard has no record, which its end would change.
#[tokio::test]
async fn a_concurrent_object_without_a_record_is_detected() {
    let store = Interposed::over(Memory::new(Options::default()));
    let builder = ApiServer::builder(store.inner.clone());
    let before = builder.kind(unguarded()).start().await.unwrap();
    let parent = subnet("parent", &[1], 0, 0);
    subnets_of(&before).create(&parent, None).await.unwrap();
    before.stop().await;
    let server = ApiServer::builder(store.clone()).kind(children()).start().await.unwrap();
    let other = ApiServer::builder(store.inner.clone()).kind(children()).start().await.unwrap();
    let (handle, other) = (subnets_of(&server), subnets_of(&other));
    let orphan = async move {
        other.delete(&key("parent"), &Deletion::default()).await.unwrap();
    };
    store.before(RECORD, orphan).await;
    let error = handle.create(&subnet("child", &[1], 1, 1), None).await.unwrap_err();
    assert!(error.to_string().contains("it has no parent"), "{error}");
    assert_eq!(records(&store.inner).await, 0);
}

#[tokio::test]
async fn a_dry_run_is_checked_and_leaves_no_record() {
    let store = Memory::new(Options::default());
    let (servers, [handle, _], _) = two(&store).await;
    let client = Client::of(&servers[1]);
    handle.create(&subnet("a", &[1], 0, 10), None).await.unwrap();
    let dry = async |from: u64| {
        let object = posted(&subnet("b", &[1, 2], from, from + 5)).to_string();
        let headers = [("content-type", "application/json")];
        client.ask(Method::POST, &format!("{PATH}?dryRun=All"), &headers, &object).await
    };
    dry(20).await.fine();
    assert_eq!(dry(5).await.refused().0, 422);
    assert_eq!(records(&store).await, 1);
}

#[tokio::test]
async fn guards_are_distinguished_by_name() {
    let why = async |kind: KindOf<Subnet>, name: &str| {
        let kind = kind.guard(name, keys, |_: &Subnet, _: &[Arc<Subnet>]| Vec::<InvalidField>::new());
        let started = ApiServer::builder(Memory::new(Options::default())).kind(kind).start().await;
        match started.err() {
            Some(StartError::Definition { why, .. }) => why,
            other => panic!("{other:?}"),
        }
    };
    assert!(why(unguarded(), "").await.contains("can be no guard's name"));
    assert!(why(unguarded(), "a/b").await.contains("can be no guard's name"));
    assert!(why(subnets(&GuardCalls::default()), "disjoint").await.contains("two guards are called"));
}
