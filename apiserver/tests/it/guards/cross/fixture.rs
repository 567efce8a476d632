//! Deployments that refer to ConfigMaps, with the guards that keep their labels unique and their
//! references from dangling.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::ResourceExt as _;
use machinery_apiserver::{
    ApiServer, Builder, CrossKindGuard, GuardedObject, GuardedWrite, Identity, Limits, Operation, Service,
};
use machinery_objects::{InvalidField, Revision};
use machinery_store::{Backend, Change, Entry, KeySpan, WatchItem};
use serde_json::{Value, json};

use crate::client::{Answer, Client};

/// The annotation with the name of a ConfigMap of the same namespace, or with its namespace and
/// name.
const CONFIG: &str = "example.com/config";
pub(super) const MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub(super) const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

/// Of the Deployments of a namespace with one value of the label `app`, one exists.
pub(super) fn unique() -> CrossKindGuard {
    let key = |deployment: &Deployment| {
        let app = deployment.labels().get("app")?;
        Some(format!("{}/{app}", deployment.namespace()?))
    };
    CrossKindGuard::new("unique-app").member(key).check(|_, others| {
        let taken = |other: &GuardedObject| format!("{} has this value", other.name());
        let wrong = |other| InvalidField { field: "metadata.labels".into(), reason: taken(other) };
        others.first().map(wrong).into_iter().collect()
    })
}

/// Returns the key of the ConfigMap that a Deployment refers to.
fn reference(deployment: &Deployment) -> Option<String> {
    let name = deployment.annotations().get(CONFIG)?;
    Some(if name.contains('/') { name.clone() } else { format!("{}/{name}", deployment.namespace()?) })
}

/// A Deployment refers to an existing ConfigMap, and such a ConfigMap is not deleted.
pub(super) fn references() -> CrossKindGuard {
    let key = |map: &ConfigMap| map.namespace().map(|namespace| format!("{namespace}/{}", map.name_any()));
    CrossKindGuard::new("references").member(key).member(reference).check_deletions().check(dangling)
}

/// The same, and a namespace is not deleted while a Deployment of another one refers into it.
pub(super) fn references_between_namespaces() -> CrossKindGuard {
    let keys = |deployment: &Deployment| {
        let (own, reference) = (deployment.namespace(), reference(deployment));
        let other = reference.as_deref().and_then(|key| key.split_once('/')).map(|(name, _)| name.to_owned());
        other.filter(|other| own.as_ref() != Some(other))
    };
    CrossKindGuard::new("namespaces")
        .member(|namespace: &k8s_openapi::api::core::v1::Namespace| [namespace.name_any()])
        .member(keys)
        .check_deletions()
        .check(|write: &GuardedWrite, others: &[GuardedObject]| {
            let user = others.iter().find(|other| other.is_of("apps", "deployments"));
            let gone = others.iter().all(|other| !other.is_of("", "namespaces") || other.is_terminating());
            let reason = match (write.operation, write.object.is_of("", "namespaces"), user) {
                (Operation::Delete, true, Some(user)) => format!("{} refers into it", user.name()),
                (Operation::Create | Operation::Update, false, _) if gone => "its namespace ends".to_owned(),
                _ => return Vec::new(),
            };
            vec![InvalidField { field: String::new(), reason }]
        })
}

fn dangling(write: &GuardedWrite, others: &[GuardedObject]) -> Vec<InvalidField> {
    let user = others.iter().find(|other| other.of::<Deployment>().is_some());
    let exists = others.iter().any(|other| other.of::<ConfigMap>().is_some() && !other.is_terminating());
    let is_map = write.object.of::<ConfigMap>().is_some();
    let (field, reason) = match (write.operation, user) {
        (Operation::Delete, Some(user)) if is_map => ("", format!("{} refers to it", user.name())),
        (Operation::Create | Operation::Update, _) if !is_map && !exists => {
            ("metadata.annotations", "its ConfigMap does not exist".to_owned())
        }
        _ => return Vec::new(),
    };
    vec![InvalidField { field: field.into(), reason }]
}

pub(super) async fn start(store: &(impl Backend + Clone), guards: Vec<CrossKindGuard>) -> ApiServer {
    // However busy the machine is.
    let limits = Limits { guard_time: std::time::Duration::from_secs(60), ..Limits::default() };
    let builder = ApiServer::builder(store.clone()).limits(limits);
    guards.into_iter().fold(builder, Builder::guard).start().await.unwrap()
}

pub(super) fn service(server: &ApiServer) -> Service {
    server.service(Identity::admin())
}

pub(super) fn map(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

pub(super) fn deployment(name: &str, app: &str, config: Option<&str>) -> Value {
    let labels = json!({"app": app});
    let container = json!({"name": "c", "image": "i"});
    json!({
        "metadata": {"name": name, "labels": labels, "annotations": config.map(|name| json!({CONFIG: name}))},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    })
}

/// Checks that an answer is the refusal of a guard.
#[track_caller]
pub(super) fn refused(answer: &Answer, guard: &str, reason: &str) {
    assert_eq!((answer.code, &answer.body["reason"]), (422, &"Invalid".into()), "{answer:?}");
    let causes = answer.body["details"]["causes"].as_array().unwrap();
    let cause = json!({"reason": "GuardRefused", "message": guard});
    assert!(causes.contains(&cause), "{answer:?}");
    assert!(answer.body["message"].as_str().unwrap().contains(reason), "{answer:?}");
}

pub(super) async fn create(client: &Client, path: &str, object: &Value) {
    client.post(path, object).await.fine();
}

/// The state of the store at each revision: ConfigMaps and references.
#[derive(Default)]
pub(super) struct ReferenceHistory {
    maps: BTreeSet<String>,
    references: BTreeMap<String, String>,
}

impl ReferenceHistory {
    /// Checks that at no revision of the store an object has a dangling reference. Returns the
    /// number of revisions.
    pub(super) async fn check(mut self, store: &impl Backend) -> usize {
        let until = store.revision().await.unwrap();
        let mut watch = store.watch(KeySpan::all(), Revision(1)).await.unwrap();
        let (mut at, mut seen, mut log) = (Revision(1), 0, Vec::new());
        while at < until {
            let WatchItem::Changes { revision, events } = watch.next().await.unwrap() else { continue };
            (at, seen) = (revision, seen + 1);
            for event in &events {
                let word = match &event.change {
                    Change::Put(entry) => format!("+{}", entry.key),
                    Change::Deleted(key) => format!("-{key}"),
                };
                log.push(format!("{at} {word}"));
                match &event.change {
                    Change::Put(entry) => self.put(entry),
                    Change::Deleted(key) => {
                        self.maps.remove(&**key);
                        self.references.remove(&**key);
                    }
                }
            }
            for (from, to) in &self.references {
                let latest = &log[log.len().saturating_sub(24)..];
                assert!(self.maps.contains(to), "{from} refers to {to} after {latest:#?}");
            }
        }
        seen
    }

    fn put(&mut self, entry: &Entry) {
        if entry.key.starts_with("core/configmaps/") {
            self.maps.insert(entry.key.to_string());
        } else if entry.key.starts_with("apps/deployments/") {
            // JSON after a head of thirteen bytes.
            let deployment: Value = serde_json::from_slice(&entry.value[13..]).unwrap();
            match deployment["metadata"]["annotations"][CONFIG].as_str() {
                Some(name) => {
                    let to = format!("core/configmaps/default/{name}");
                    self.references.insert(entry.key.to_string(), to);
                }
                None => drop(self.references.remove(&*entry.key)),
            }
        }
    }
}
