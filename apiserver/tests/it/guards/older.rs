//! Objects that precede their guard, or its limits: they can always be deleted.

use std::sync::Arc;

use machinery_apiserver::{ApiServer, Handle, KindOf, Limits};
use machinery_objects::{
    Deleted, Deletion, InvalidField, Patch, PatchFormat, Preconditions, SpanIds, WriteError, Writer, traced,
};
use machinery_store::{Memory, Options};
use serde_json::{Value, json};

use super::subnet::{
    GuardCalls, Subnet, is_in_the_way, key, records, subnet, subnets, subnets_of, unguarded,
};
use crate::client::Client;
use crate::controllers::gone;

const LONG: u64 = 1;
const PANICS: u64 = 2;

/// A guard that suffers nothing, with keys that it should not have.
fn strict() -> KindOf<Subnet> {
    let keys = |subnet: &Subnet| match subnet.spec.from {
        LONG => vec!["x".repeat(1025)],
        PANICS => panic!("as it was asked"),
        _ => super::subnet::keys(subnet),
    };
    unguarded().guard("disjoint", keys, |_: &Subnet, _: &[Arc<Subnet>]| {
        vec![InvalidField { field: String::new(), reason: "it overlaps all".into() }]
    })
}

fn merge(body: &Value) -> Patch {
    Patch { format: PatchFormat::Merge, body: body.to_string().into_bytes().into(), status: false }
}

/// A store in which these were before there was a guard.
async fn without_a_guard(subnets: &[Subnet]) -> Memory {
    let store = Memory::new(Options::default());
    let server = ApiServer::builder(store.clone()).kind(unguarded()).start().await.unwrap();
    for subnet in subnets {
        subnets_of(&server).create(subnet, None).await.unwrap();
    }
    server.stop().await;
    store
}

fn held(mut subnet: Subnet) -> Subnet {
    subnet.metadata.finalizers = Some(vec!["example.com/a".into(), "example.com/b".into()]);
    subnet
}

pub(super) async fn is_gone(handle: &Handle<Subnet>, name: &str) {
    let again = handle.delete(&key(name), &Deletion::default()).await;
    assert!(matches!(again, Err(WriteError::NotFound)), "{name}: {again:?}");
}

/// Marked, then freed step by step.
async fn goes(handle: &Handle<Subnet>, name: &str) {
    let none = Preconditions::default();
    let marked = handle.delete(&key(name), &Deletion::default()).await.unwrap();
    assert!(matches!(marked, Deleted::Marked(_)), "{name}");
    for finalizers in [json!(["example.com/b"]), json!(null)] {
        let less = merge(&json!({"metadata": {"finalizers": finalizers}}));
        handle.patch(&key(name), &less, &none).await.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    is_gone(handle, name).await;
}

#[tokio::test]
async fn an_object_over_the_key_limit_can_be_deleted() {
    let many: Vec<u64> = (0..120).collect();
    let all = [
        held(subnet("many", &many, 9, 9)),
        held(subnet("more", &many[..17], 9, 9)),
        held(subnet("long", &[], LONG, 9)),
        held(subnet("panics", &[], PANICS, 9)),
        subnet("at-once", &many, 9, 9),
        subnet("long-at-once", &[], LONG, 9),
        subnet("panics-at-once", &[], PANICS, 9),
    ];
    let store = without_a_guard(&all).await;
    let server = ApiServer::builder(store.clone()).kind(strict()).start().await.unwrap();
    let handle = subnets_of(&server);
    // Larger objects are checked in full.
    let refused = async |name: &str| {
        let more = merge(&json!({"metadata": {"labels": {"a": "b"}}}));
        handle.patch(&key(name), &more, &Preconditions::default()).await.unwrap_err().to_string()
    };
    assert!(refused("many").await.contains("so many keys of guards, and may be under 16"));
    assert!(refused("long").await.contains("may not be more than 1024 bytes"));
    assert!(refused("panics").await.contains("panicked"));
    for name in ["many", "more", "long", "panics"] {
        goes(&handle, name).await;
    }
    for name in ["at-once", "long-at-once", "panics-at-once"] {
        let deleted = handle.delete(&key(name), &Deletion::default()).await;
        assert!(matches!(deleted, Ok(Deleted::Gone(_))), "{name}: {deleted:?}");
    }
    server.stop().await;
}

/// A change of the trace annotation alone does not call the guards.
#[tokio::test]
async fn an_object_over_the_key_limit_can_be_deleted_with_and_without_a_trace_context() {
    let ids = SpanIds::seeded(1);
    let store = Memory::new(Options::default());
    let server = ApiServer::builder(store.clone()).kind(unguarded()).start().await.unwrap();
    for name in ["long", "panics", "stamped"] {
        let from = if name == "panics" { PANICS } else { LONG };
        let trace = (name == "stamped").then(|| ids.root());
        traced(trace, subnets_of(&server).create(&held(subnet(name, &[], from, 9)), None)).await.unwrap();
    }
    server.stop().await;
    let server = ApiServer::builder(store).kind(strict()).start().await.unwrap();
    let handle = subnets_of(&server);
    traced(Some(ids.root()), goes(&handle, "long")).await;
    traced(Some(ids.root()), goes(&handle, "panics")).await;
    goes(&handle, "stamped").await;
    server.stop().await;
}

#[tokio::test]
async fn a_namespace_is_deleted_with_objects_over_the_key_limit() {
    let store = Memory::new(Options::default());
    let before = ApiServer::builder(store.clone()).kind(unguarded()).start().await.unwrap();
    let namespace = json!({"metadata": {"name": "n"}});
    Client::of(&before).post("/api/v1/namespaces", &namespace).await.fine();
    let mut inside = subnet("inside", &(0..120).collect::<Vec<_>>(), 9, 9);
    inside.metadata.namespace = "n".into();
    traced(Some(SpanIds::seeded(1).root()), subnets_of(&before).create(&inside, None)).await.unwrap();
    before.stop().await;
    let server = ApiServer::builder(store.clone()).kind(strict()).start().await.unwrap();
    let client = Client::of(&server);
    client.delete("/api/v1/namespaces/n").await.fine();
    gone(&client, "/api/v1/namespaces/n").await;
    server.stop().await;
}

#[tokio::test]
async fn an_update_from_too_many_keys_is_checked_under_its_new_keys() {
    let many: Vec<u64> = (0..120).collect();
    let store = without_a_guard(&[subnet("a", &many, 0, 10), subnet("b", &[500], 5, 20)]).await;
    let server =
        ApiServer::builder(store.clone()).kind(subnets(&GuardCalls::default())).start().await.unwrap();
    let handle = subnets_of(&server);
    let none = Preconditions::default();
    is_in_the_way(handle.update(&subnet("a", &[500], 0, 10), &none).await);
    handle.update(&subnet("a", &[500], 0, 4), &none).await.unwrap();
    is_in_the_way(handle.create(&subnet("c", &[500], 3, 4), None).await);
    handle.delete(&key("a"), &Deletion::default()).await.unwrap();
    handle.delete(&key("b"), &Deletion::default()).await.unwrap();
    assert_eq!(records(&store).await, 0);
    server.stop().await;
}

/// Some records of an object with more keys than are now allowed stay, and conflict with nothing.
#[tokio::test]
async fn a_leftover_guard_record_causes_no_conflict() {
    let store = Memory::new(Options::default());
    let start = async |keys: usize| {
        let limits = Limits { guard_keys: keys, ..Limits::default() };
        let builder = ApiServer::builder(store.clone()).kind(subnets(&GuardCalls::default())).limits(limits);
        builder.start().await.unwrap()
    };
    let vnis: Vec<u64> = (0..12).collect();
    let before = start(16).await;
    subnets_of(&before).create(&held(subnet("a", &vnis, 0, 10)), None).await.unwrap();
    before.stop().await;
    assert_eq!(records(&store).await, 12);
    let server = start(2).await;
    let handle = subnets_of(&server);
    goes(&handle, "a").await;
    // Five of each two conditions and changes fit where two keys have room.
    assert_eq!(records(&store).await, 7);
    for vni in &vnis {
        handle.create(&subnet("b", &[*vni], 5, 10), None).await.unwrap();
        is_in_the_way(handle.create(&subnet("c", &[*vni], 0, 10), None).await);
        handle.delete(&key("b"), &Deletion::default()).await.unwrap();
    }
    assert_eq!(records(&store).await, 0, "they go with the next who does");
    server.stop().await;
}
