//! Subnets: two in one network must not overlap.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use machinery_apiserver::{ApiServer, Handle, Identity, KindOf, Limits};
use machinery_objects::{Conflict, InvalidField, Kind, ObjectKey, Revision, Scope, WriteError};
use machinery_store::{Backend, Change, Entry, KeySpan, Range, WatchItem};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

/// Not a type of kube: this object is written a hundred thousand times and has only the necessary
/// fields.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Subnet {
    pub(crate) metadata: Meta,
    pub(crate) spec: SubnetSpec,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<SubnetStatus>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Meta {
    pub(crate) name: String,
    pub(crate) namespace: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) finalizers: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) owner_references: Option<Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct SubnetSpec {
    /// The networks that it is in.
    pub(crate) vnis: Vec<u64>,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct SubnetStatus {
    /// The current value of the counter.
    pub(crate) grown_to: u64,
}

impl Subnet {
    /// The last that it has.
    fn end(&self) -> u64 {
        self.status.as_ref().map_or(0, |status| status.grown_to).max(self.spec.to)
    }

    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let together = self.spec.vnis.iter().any(|vni| other.spec.vnis.contains(vni));
        together && self.spec.from <= other.end() && other.spec.from <= self.end()
    }
}

pub(crate) const PATH: &str = "/apis/example.com/v1/namespaces/default/subnets";

/// The number of guard calls.
pub(crate) type GuardCalls = Arc<AtomicUsize>;

/// Subnets without a guard.
pub(crate) fn unguarded() -> KindOf<Subnet> {
    let number = json!({"type": "integer", "minimum": 0});
    let spec = json!({"type": "object", "properties": {
        "vnis": {"type": "array", "items": number}, "from": number, "to": number,
    }});
    let status = json!({"type": "object", "properties": {"grown_to": number}});
    let schema = json!({"type": "object", "properties": {"spec": spec, "status": status}});
    KindOf::defined(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "subnets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "subnets", "kind": "Subnet"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    }))
}

pub(crate) fn subnets_of(server: &ApiServer) -> Handle<Subnet> {
    let kind = Kind::new("example.com/v1", "Subnet", "subnets", Scope::Namespaced).unwrap();
    server.handle_of(kind, Identity::admin())
}

/// Subnets with their guard.
pub(crate) fn subnets(asked: &GuardCalls) -> KindOf<Subnet> {
    let asked = asked.clone();
    unguarded().guard("disjoint", keys, move |subnet: &Subnet, others: &[Arc<Subnet>]| {
        asked.fetch_add(1, Ordering::Relaxed);
        let reason = |other: &Subnet| format!("it overlaps {}", other.metadata.name);
        let in_the_way = others.iter().find(|other| subnet.overlaps(other));
        in_the_way
            .map(|other| InvalidField { field: "spec.from".into(), reason: reason(other) })
            .into_iter()
            .collect()
    })
}

pub(crate) fn keys(subnet: &Subnet) -> Vec<String> {
    subnet.spec.vnis.iter().map(|vni| format!("vni/{vni}")).collect()
}

/// Starts two servers on one store, with a handle of each.
pub(crate) async fn two(store: &(impl Backend + Clone)) -> ([ApiServer; 2], [Handle<Subnet>; 2], GuardCalls) {
    let asked = GuardCalls::default();
    let start = async || {
        // However busy the machine is.
        let limits = Limits { guard_time: Duration::from_secs(60), ..Limits::default() };
        let builder = ApiServer::builder(store.clone()).kind(subnets(&asked)).limits(limits);
        builder.start().await.unwrap()
    };
    let servers = [start().await, start().await];
    let handles = [subnets_of(&servers[0]), subnets_of(&servers[1])];
    (servers, handles, asked)
}

/// Does something on another thread, perhaps.
pub(crate) fn beside<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    TaskTracker::new().spawn(task)
}

/// A subnet in some networks.
pub(crate) fn subnet(name: &str, vnis: &[u64], from: u64, to: u64) -> Subnet {
    let metadata = Meta { name: name.into(), namespace: "default".into(), ..Meta::default() };
    Subnet { metadata, spec: SubnetSpec { vnis: vnis.to_vec(), from, to }, status: None }
}

/// The wire form.
pub(crate) fn posted(subnet: &Subnet) -> Value {
    let mut object = serde_json::to_value(subnet).unwrap();
    object["apiVersion"] = "example.com/v1".into();
    object["kind"] = "Subnet".into();
    object
}

pub(crate) fn key(name: &str) -> ObjectKey {
    ObjectKey::new(Some("default"), name).unwrap()
}

#[track_caller]
pub(crate) fn is_in_the_way<T: std::fmt::Debug>(found: Result<T, WriteError>) {
    match found {
        Err(WriteError::Conflict(Conflict::Guard { guard, reason })) => {
            assert_eq!(guard, "disjoint");
            assert!(reason.contains("it overlaps"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
}

/// Decodes a stored subnet: JSON after a head of thirteen bytes.
fn stored(entry: &Entry) -> Subnet {
    serde_json::from_slice(&entry.value[13..]).unwrap()
}

/// Checks the store itself for conflicting subnets.
#[derive(Default)]
pub(crate) struct Auditor {
    there: BTreeMap<String, Subnet>,
    by_vni: BTreeMap<u64, Vec<String>>,
    records: BTreeMap<String, Value>,
    pub(crate) seen: usize,
}

impl Auditor {
    /// Follows the store from a revision to the current one, and checks each revision.
    pub(crate) async fn audit(&mut self, store: &impl Backend, after: Revision) -> Revision {
        let until = store.revision().await.unwrap();
        let mut watch = store.watch(KeySpan::all(), after).await.unwrap();
        let mut at = after;
        while at < until {
            let WatchItem::Changes { revision, events } = watch.next().await.unwrap() else { continue };
            at = revision;
            self.seen += 1;
            let mut changed = Vec::new();
            for event in &events {
                let (key, entry) = match &event.change {
                    Change::Put(entry) => (entry.key.clone(), Some(entry)),
                    Change::Deleted(key) => (key.clone(), None),
                };
                if key.starts_with("/guards/") {
                    match entry {
                        Some(_) => drop(self.records.insert(key.to_string(), Value::Null)),
                        None => drop(self.records.remove(&*key)),
                    }
                } else if key.starts_with("example.com/subnets/") {
                    self.take(&key, entry.map(|entry| stored(entry)));
                    changed.push(key.to_string());
                }
            }
            for key in changed {
                self.look(&key, revision);
            }
        }
        at
    }

    fn take(&mut self, key: &str, now: Option<Subnet>) {
        for vni in self.there.remove(key).iter().flat_map(|before| &before.spec.vnis) {
            let under = self.by_vni.get_mut(vni).unwrap();
            under.retain(|one| one != key);
            if under.is_empty() {
                self.by_vni.remove(vni);
            }
        }
        if let Some(now) = now {
            for vni in &now.spec.vnis {
                self.by_vni.entry(*vni).or_default().push(key.into());
            }
            self.there.insert(key.into(), now);
        }
    }

    /// Checks that this subnet conflicts with no other, and that there is a record exactly for each
    /// network in use.
    fn look(&self, key: &str, at: Revision) {
        let wanted: Vec<String> = self
            .by_vni
            .keys()
            .map(|vni| format!("/guards/example.com/subnets/disjoint/=vni/{vni}"))
            .collect();
        let mut wanted: Vec<&String> = wanted.iter().collect();
        wanted.sort();
        assert_eq!(self.records.keys().collect::<Vec<_>>(), wanted, "the records at revision {at}");
        let Some(subnet) = self.there.get(key) else { return };
        for other in subnet.spec.vnis.iter().flat_map(|vni| &self.by_vni[vni]).filter(|other| *other != key) {
            let other = &self.there[other];
            assert!(!subnet.overlaps(other), "at revision {at}: {subnet:?} and {other:?}");
        }
    }
}

/// How many records there are.
pub(crate) async fn records(store: &impl Backend) -> usize {
    store.range(Range::of(KeySpan::prefix("/guards/"))).await.unwrap().entries.len()
}
