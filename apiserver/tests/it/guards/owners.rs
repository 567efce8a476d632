//! Guards whose keys depend on owners and finalizers, which updates otherwise do not check.

use std::sync::Arc;

use machinery_apiserver::{ApiServer, KindOf, Limits};
use machinery_objects::{Deletion, InvalidField, Patch, PatchFormat, Preconditions, Writer};
use machinery_store::{Memory, Options};
use serde_json::{Value, json};

use super::older::is_gone;
use super::subnet::{Subnet, is_in_the_way, key, records, subnet, subnets_of, unguarded};
use crate::client::Client;

/// A kind with a guard that allows one object per owner, and one per finalizer.
fn one_of_each() -> KindOf<Subnet> {
    let keys = |subnet: &Subnet| {
        let owners = subnet.metadata.owner_references.iter().flat_map(|all| all.as_array().unwrap());
        let owners = owners.map(|owner| format!("owner/{}", owner["uid"]));
        let finalizers = subnet.metadata.finalizers.iter().flatten();
        owners.chain(finalizers.map(|one| format!("finalizer/{one}"))).collect::<Vec<_>>()
    };
    unguarded().guard("disjoint", keys, |_: &Subnet, others: &[Arc<Subnet>]| {
        let reason = |other: &Arc<Subnet>| format!("it overlaps {}", other.metadata.name);
        let wrong = |other| InvalidField { field: String::new(), reason: reason(other) };
        others.first().map(wrong).into_iter().collect()
    })
}

fn merge(metadata: &Value) -> Patch {
    let body = json!({"metadata": metadata}).to_string().into_bytes().into();
    Patch { format: PatchFormat::Merge, body, status: false }
}

#[tokio::test]
async fn an_object_that_gains_a_key_by_its_metadata_is_checked() {
    let store = Memory::new(Options::default());
    let limits = Limits { guard_keys: 2, ..Limits::default() };
    let builder = ApiServer::builder(store.clone()).kind(one_of_each()).limits(limits);
    let server = builder.start().await.unwrap();
    let (client, handle) = (Client::of(&server), subnets_of(&server));
    let maps = "/api/v1/namespaces/default/configmaps";
    let owner = client.post(maps, &json!({"metadata": {"name": "o"}})).await.fine();
    let uid = owner["metadata"]["uid"].clone();
    let owned =
        json!({"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": uid}]});
    let finalized = |names: &[&str]| json!({"finalizers": names});
    let none = Preconditions::default();
    let patched =
        async |name: &str, metadata: &Value| handle.patch(&key(name), &merge(metadata), &none).await;

    for name in ["a", "b"] {
        handle.create(&subnet(name, &[], 0, 10), None).await.unwrap();
    }
    patched("a", &owned).await.unwrap();
    is_in_the_way(patched("b", &owned).await);
    patched("a", &finalized(&["example.com/x"])).await.unwrap();
    is_in_the_way(patched("b", &finalized(&["example.com/x"])).await);
    assert_eq!(records(&store).await, 2);
    let many = patched("a", &finalized(&["example.com/x", "example.com/y"])).await.unwrap_err();
    assert!(many.to_string().contains("may be under 2"), "{many}");
    patched("a", &json!({"ownerReferences": null})).await.unwrap();
    patched("b", &owned).await.unwrap();
    server.stop().await;
}

/// An object that loses keys is not checked under the remaining ones.
#[tokio::test]
async fn an_object_that_only_loses_keys_is_not_checked() {
    let store = Memory::new(Options::default());
    let before = ApiServer::builder(store.clone()).kind(unguarded()).start().await.unwrap();
    let names: Vec<String> = (0..40).map(|at| format!("example.com/f{at}")).collect();
    for name in ["a", "b"] {
        let mut held = subnet(name, &[], 0, 10);
        held.metadata.finalizers = Some(names.clone());
        subnets_of(&before).create(&held, None).await.unwrap();
    }
    before.stop().await;
    let server = ApiServer::builder(store.clone()).kind(one_of_each()).start().await.unwrap();
    let handle = subnets_of(&server);
    for name in ["a", "b"] {
        handle.delete(&key(name), &Deletion::default()).await.unwrap();
        for left in (0..40).rev() {
            let less = merge(&json!({"finalizers": names[..left]}));
            handle.patch(&key(name), &less, &Preconditions::default()).await.unwrap();
        }
        is_gone(&handle, name).await;
    }
    assert_eq!(records(&store).await, 0);
    server.stop().await;
}
