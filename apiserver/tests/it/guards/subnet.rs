//! Subnets: those of one network must not overlap.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kube::CustomResource;
use kube_core::ResourceExt;
use machinery_apiserver::{ApiServer, Handle, Identity, KindOf};
use machinery_objects::{Conflict, InvalidField, ObjectKey, Revision, WriteError};
use machinery_store::{Backend, Change, Entry, Range, Seen, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Subnet", namespaced, status = "SubnetStatus")]
#[kube(derive = "PartialEq")]
pub(crate) struct SubnetSpec {
    /// The networks that it is in.
    pub(crate) vnis: Vec<u64>,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub(crate) struct SubnetStatus {
    /// It counts up to here by now.
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

/// How often the guard was asked.
pub(crate) type Asked = Arc<AtomicUsize>;

/// Subnets with their guard.
pub(crate) fn subnets(asked: &Asked) -> KindOf<Subnet> {
    let asked = asked.clone();
    KindOf::new().guard("disjoint", keys, move |subnet: &Subnet, others: &[Arc<Subnet>]| {
        asked.fetch_add(1, Ordering::Relaxed);
        let reason = |other: &Subnet| format!("it overlaps {}", other.name_any());
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

/// Two servers on one store, and a handle of each.
pub(crate) async fn two(store: &(impl Backend + Clone)) -> ([ApiServer; 2], [Handle<Subnet>; 2], Asked) {
    let asked = Asked::default();
    let start = async || {
        let builder = ApiServer::builder(store.clone()).kind(subnets(&asked));
        builder.start().await.unwrap()
    };
    let servers = [start().await, start().await];
    let handles = [&servers[0], &servers[1]].map(|server| server.handle::<Subnet>(Identity::admin()));
    (servers, handles, asked)
}

/// A subnet in some networks.
pub(crate) fn subnet(name: &str, vnis: &[u64], from: u64, to: u64) -> Subnet {
    let mut subnet = Subnet::new(name, SubnetSpec { vnis: vnis.to_vec(), from, to });
    subnet.metadata.namespace = Some("default".into());
    subnet
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

/// What is stored of a subnet: JSON behind a head of thirteen bytes.
fn stored(entry: &Entry) -> Subnet {
    serde_json::from_slice(&entry.value[13..]).unwrap()
}

/// Whoever looks at the store itself, and finds two that are in each other's way.
#[derive(Default)]
pub(crate) struct Auditor {
    there: BTreeMap<String, Subnet>,
    by_vni: BTreeMap<u64, Vec<String>>,
    records: BTreeMap<String, Value>,
    pub(crate) seen: usize,
}

impl Auditor {
    /// Follows the store from a revision on to what it is now, and looks at each revision.
    pub(crate) async fn audit(&mut self, store: &impl Backend, after: Revision) -> Revision {
        let until = store.revision().await.unwrap();
        let mut watch = store.watch(Span::all(), after).await.unwrap();
        let mut at = after;
        while at < until {
            let Seen::Changes { revision, events } = watch.next().await.unwrap() else { continue };
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

    /// Nobody is in the way of this one, and there is a record of each network that somebody is in, and of no other.
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
    store.range(Range::of(Span::prefix("/guards/"))).await.unwrap().entries.len()
}
