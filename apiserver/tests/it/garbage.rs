//! Garbage collection: owners deleted in any order, with any propagation policy, and across
//! restarts.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use machinery_apiserver::ApiServer;
use machinery_store::{Memory, Options};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use tokio::time::Duration;

use crate::client::{Client, definition, widgets};
use crate::controllers::{collected, gone};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

fn owner(of: &Value, kind: &str, blocks: bool) -> Value {
    let (name, uid) = (&of["metadata"]["name"], &of["metadata"]["uid"]);
    json!({"apiVersion": "v1", "kind": kind, "name": name, "uid": uid, "blockOwnerDeletion": blocks})
}

fn named(name: &str, owners: &[Value]) -> Value {
    json!({"metadata": {"name": name, "ownerReferences": owners}})
}

/// An owner `a` with a dependent `b`.
async fn pair(client: &Client) {
    let a = client.post(MAPS, &named("a", &[])).await.fine();
    client.post(MAPS, &named("b", &[owner(&a, "ConfigMap", true)])).await.fine();
}

/// Deletes, with options in the body, if there are any.
async fn delete(client: &Client, path: &str, options: Option<Value>) {
    match options {
        None => client.delete(path).await.fine(),
        Some(mut options) => {
            options["kind"] = "DeleteOptions".into();
            let json = [("content-type", "application/json")];
            client.ask(Method::DELETE, path, &json, &options.to_string()).await.fine()
        }
    };
}

#[tokio::test]
async fn propagation_policies_are_accepted_in_query_and_body() {
    let (_server, client) = widgets().await;
    let (a, b) = (format!("{MAPS}/a"), format!("{MAPS}/b"));
    let orphans = [
        (format!("{a}?propagationPolicy=Orphan"), None),
        (format!("{a}?orphanDependents=true"), None),
        (a.clone(), Some(json!({"propagationPolicy": "Orphan"}))),
        (a.clone(), Some(json!({"orphanDependents": true}))),
        (format!("{MAPS}?propagationPolicy=Orphan&fieldSelector=metadata.name%3Da"), None),
        (format!("{MAPS}?fieldSelector=metadata.name%3Da"), Some(json!({"propagationPolicy": "Orphan"}))),
    ];
    for (path, options) in orphans {
        pair(&client).await;
        delete(&client, &path, options).await;
        gone(&client, &a).await;
        collected(&client).await;
        let left = client.get(&b).await.fine();
        assert_eq!(left["metadata"]["ownerReferences"], Value::Null, "{path}");
        client.delete(&b).await.fine();
    }
    let others = [
        (a.clone(), None),
        (format!("{a}?propagationPolicy=Background"), None),
        (format!("{a}?propagationPolicy=Foreground"), None),
        (format!("{a}?orphanDependents=false"), None),
        (a.clone(), Some(json!({"propagationPolicy": "Foreground"}))),
        (format!("{MAPS}?propagationPolicy=Foreground&fieldSelector=metadata.name%3Da"), None),
    ];
    for (path, options) in others {
        pair(&client).await;
        delete(&client, &path, options).await;
        gone(&client, &b).await;
        gone(&client, &a).await;
    }
}

#[tokio::test]
async fn foreground_deletion_waits_for_blocking_dependents() {
    let (_server, client) = widgets().await;
    let a = client.post(MAPS, &named("a", &[])).await.fine();
    let mut held = named("b", &[owner(&a, "ConfigMap", true)]);
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    client.post(MAPS, &held).await.fine();
    client.post(MAPS, &named("c", &[owner(&a, "ConfigMap", false)])).await.fine();
    client
        .delete(&format!("{MAPS}?propagationPolicy=Foreground&fieldSelector=metadata.name%3Da"))
        .await
        .fine();
    gone(&client, &format!("{MAPS}/c")).await;
    collected(&client).await;
    let waiting = client.get(&format!("{MAPS}/a")).await.fine();
    assert_eq!(waiting["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    assert!(client.get(&format!("{MAPS}/b")).await.fine()["metadata"]["deletionTimestamp"].is_string());
    client.merge(&format!("{MAPS}/b"), &json!({"metadata": {"finalizers": null}})).await.fine();
    gone(&client, &format!("{MAPS}/a")).await;
}

#[tokio::test]
async fn a_deletion_begun_before_a_restart_is_completed() {
    let store = Memory::new(Options::default());
    let server = ApiServer::builder(store.clone()).without_garbage_collection().start().await.unwrap();
    let client = Client::of(&server);
    pair(&client).await;
    let c = client.post(MAPS, &named("c", &[])).await.fine();
    let d = client.post(MAPS, &named("d", &[owner(&c, "ConfigMap", true)])).await.fine();
    client.post(MAPS, &named("e", &[owner(&d, "ConfigMap", true)])).await.fine();
    let f = client.post(MAPS, &named("f", &[])).await.fine();
    client.post(MAPS, &named("g", &[owner(&f, "ConfigMap", true)])).await.fine();
    client.delete(&format!("{MAPS}/a?propagationPolicy=Orphan")).await.fine();
    client.delete(&format!("{MAPS}/c?propagationPolicy=Foreground")).await.fine();
    client.delete(&format!("{MAPS}/f")).await.fine();
    assert_eq!(client.get(MAPS).await.fine()["items"].as_array().unwrap().len(), 6, "nobody collects");
    server.stop().await;
    let server = ApiServer::builder(store).start().await.unwrap();
    let client = Client::of(&server);
    for name in ["a", "c", "d", "e", "g"] {
        gone(&client, &format!("{MAPS}/{name}")).await;
    }
    let b = client.get(&format!("{MAPS}/b")).await.fine();
    assert_eq!(b["metadata"]["ownerReferences"], Value::Null);
}

#[tokio::test]
async fn dependents_are_deleted_with_the_definition_of_their_owner() {
    let (_server, client) = widgets().await;
    let kind =
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {}});
    let widget = client.post(WIDGETS, &kind).await.fine();
    let mut reference = owner(&widget, "Widget", true);
    reference["apiVersion"] = "example.com/v1".into();
    client.post(MAPS, &named("a", &[reference])).await.fine();
    // The collector must have seen objects before they are deleted together with their kind, to
    // know that they existed.
    collected(&client).await;
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";
    client.delete(definition).await.fine();
    gone(&client, definition).await;
    gone(&client, &format!("{MAPS}/a")).await;
}

/// Dependents of an owner whose kind was defined later were not checked again before a restart.
#[tokio::test]
async fn owners_of_a_new_kind_are_checked_once_it_is_served() {
    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let client = Client::of(&server);
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": "none-such"});
    client.post(MAPS, &named("a", &[widget])).await.fine();
    collected(&client).await;
    client.get(&format!("{MAPS}/a")).await.fine();
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    client.post(definitions, &definition()).await.fine();
    gone(&client, &format!("{MAPS}/a")).await;
}

#[tokio::test]
async fn an_owner_reference_to_another_namespace_is_reported_in_an_event() {
    let (_server, client) = widgets().await;
    client.post("/api/v1/namespaces", &named("other", &[])).await.fine();
    let there = "/api/v1/namespaces/other/configmaps";
    let a = client.post(there, &named("a", &[])).await.fine();
    let b = client.post(MAPS, &named("b", &[owner(&a, "ConfigMap", true)])).await.fine();
    let node = client.post("/api/v1/nodes", &named("n", &[owner(&a, "ConfigMap", true)])).await.fine();
    // An owner in another namespace counts as absent for a namespaced dependent; for a
    // cluster-scoped one it is unknown.
    gone(&client, &format!("{MAPS}/b")).await;
    for round in 0..2 {
        client
            .merge("/api/v1/nodes/n", &json!({"metadata": {"labels": {"round": round.to_string()}}}))
            .await
            .fine();
        collected(&client).await;
    }
    client.get("/api/v1/nodes/n").await.fine();
    client.get(&format!("{there}/a")).await.fine();
    let select = "/api/v1/namespaces/default/events?fieldSelector=reason%3DOwnerRefInvalidNamespace";
    let events = client.get(select).await.fine();
    let told: BTreeSet<_> = events["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| {
            assert_eq!(event["type"], "Warning");
            (event["involvedObject"]["uid"].to_string(), event["message"].as_str().unwrap().to_owned())
        })
        .collect();
    let message = |namespace: &str| {
        let uid = a["metadata"]["uid"].as_str().unwrap();
        format!(
            "ownerRef [v1/ConfigMap, namespace: {namespace}, name: a, uid: {uid}] does not exist in namespace {namespace:?}"
        )
    };
    let of = |object: &Value, namespace| (object["metadata"]["uid"].to_string(), message(namespace));
    assert_eq!(told, BTreeSet::from([of(&b, "default"), of(&node, "")]));
    assert_eq!(events["items"].as_array().unwrap().len(), 2, "once, however often it is seen: {events:#}");
}

/// The scope of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Default,
    Other,
    Cluster,
}

impl At {
    const fn all(self) -> &'static str {
        match self {
            Self::Default => MAPS,
            Self::Other => "/api/v1/namespaces/other/configmaps",
            Self::Cluster => "/api/v1/nodes",
        }
    }

    const fn kind(self) -> &'static str {
        if matches!(self, Self::Cluster) { "Node" } else { "ConfigMap" }
    }
}

/// Objects, by scope, with their owners by number, and `blockOwnerDeletion`.
#[derive(Clone, Debug)]
struct Graph(Vec<(At, BTreeMap<usize, bool>)>);

#[derive(Clone, Debug)]
struct Op {
    which: usize,
    policy: usize,
    /// All due work is done before the next step.
    settles: bool,
    restarts: bool,
}

/// The expected objects, after the documentation of Kubernetes, without intermediate states.
#[derive(Clone, Debug)]
struct Oracle(Vec<(At, Option<BTreeSet<usize>>)>);

impl Oracle {
    fn of(graph: &Graph) -> Self {
        let all = graph.0.iter().map(|(at, owners)| (*at, Some(owners.keys().copied().collect())));
        let mut oracle = Self(all.collect());
        oracle.settle();
        oracle
    }

    fn can_own(&self, owner: usize, owned: usize) -> bool {
        self.0[owner].0 == At::Cluster || self.0[owner].0 == self.0[owned].0
    }

    fn settle(&mut self) {
        let mut again = true;
        while std::mem::take(&mut again) {
            for one in 0..self.0.len() {
                let (at, Some(owners)) = self.0[one].clone() else { continue };
                let unknown = at == At::Cluster && owners.iter().any(|owner| self.0[*owner].0 != At::Cluster);
                if owners.is_empty() || unknown {
                    continue;
                }
                let there = |owner: &usize| self.0[*owner].1.is_some() && self.can_own(*owner, one);
                let left: BTreeSet<usize> = owners.iter().copied().filter(there).collect();
                if left != owners {
                    self.0[one].1 = (!left.is_empty()).then_some(left);
                    again = true;
                }
            }
        }
    }

    fn delete(&mut self, which: usize, orphans: bool) {
        for one in 0..self.0.len() {
            if orphans
                && self.can_own(which, one)
                && let Some(owners) = &mut self.0[one].1
            {
                owners.remove(&which);
            }
        }
        self.0[which].1 = None;
        self.settle();
    }
}

/// The propagation policies, in the query or in the body.
const POLICIES: [(&str, &str); 8] = [
    ("", ""),
    ("?propagationPolicy=Background", ""),
    ("?orphanDependents=false", ""),
    ("?propagationPolicy=Foreground", ""),
    ("", r#"{"propagationPolicy": "Foreground"}"#),
    ("?propagationPolicy=Orphan", ""),
    ("?orphanDependents=true", ""),
    ("", r#"{"propagationPolicy": "Orphan"}"#),
];
const ORPHAN: usize = 5;

const OBJECTS: usize = 7;

fn graphs() -> impl Strategy<Value = Graph> {
    let at = prop_oneof![4 => Just(At::Default), 2 => Just(At::Other), 2 => Just(At::Cluster)];
    let owners = prop_oneof![
        1 => Just(BTreeMap::new()),
        3 => prop::collection::btree_map(0..OBJECTS, any::<bool>(), 1..4),
    ];
    prop::collection::vec((at, owners), OBJECTS).prop_map(|mut all| {
        let places: Vec<At> = all.iter().map(|(at, _)| *at).collect();
        for (at, owners) in &mut all {
            // A dependent of an owner in an unknown namespace stays forever, and so does an owner
            // that waits for it.
            let unknown =
                owners.keys().copied().find(|owner| *at == At::Cluster && places[*owner] != At::Cluster);
            if let Some(unknown) = unknown {
                owners.retain(|owner, _| *owner == unknown);
            }
        }
        Graph(all)
    })
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = (0..OBJECTS, 0..POLICIES.len(), any::<bool>(), prop::bool::weighted(0.3));
    let op = op.prop_map(|(which, policy, settles, restarts)| Op { which, policy, settles, restarts });
    prop::collection::vec(op, 1..6)
}

#[test]
fn garbage_collection_equals_a_naive_evaluation() {
    let config = Config { cases: 64, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let found = runner.run(&(graphs(), ops()), |(graph, ops)| {
        runtime.block_on(run(&graph, &ops));
        Ok(())
    });
    found.unwrap_or_else(|error| panic!("{error}"));
}

async fn run(graph: &Graph, ops: &[Op]) {
    let store = Memory::new(Options::default());
    let mut server = ApiServer::builder(store.clone()).without_garbage_collection().start().await.unwrap();
    let mut client = Client::of(&server);
    let uids = built(&client, graph).await;
    server.stop().await;
    server = ApiServer::builder(store.clone()).start().await.unwrap();
    client = Client::of(&server);
    let mut oracle = Oracle::of(graph);
    same(&client, &oracle, &uids).await;
    for op in ops {
        let orphans = op.policy >= ORPHAN;
        if orphans {
            // Whether a dependent is deleted or orphaned depends on the order of the collector's
            // work.
            same(&client, &oracle, &uids).await;
        }
        let (query, body) = POLICIES[op.policy];
        let path = format!("{}/n{}{query}", graph.0[op.which].0.all(), op.which);
        let headers: &[(&str, &str)] =
            if body.is_empty() { &[] } else { &[("content-type", "application/json")] };
        let answer = client.ask(Method::DELETE, &path, headers, body).await;
        assert!(matches!(answer.code, 200 | 404), "{answer:?}");
        if oracle.0[op.which].1.is_some() {
            oracle.delete(op.which, orphans);
        }
        if op.restarts {
            server.stop().await;
            server = ApiServer::builder(store.clone()).start().await.unwrap();
            client = Client::of(&server);
        }
        if op.settles || orphans {
            same(&client, &oracle, &uids).await;
        }
    }
    same(&client, &oracle, &uids).await;
    for _ in 0..4 {
        collected(&client).await;
    }
    assert_eq!(
        there(&client, &uids).await,
        oracle.0.iter().map(|(_, owners)| owners.clone()).collect::<Vec<_>>()
    );
    server.stop().await;
}

/// Creates all objects, and then sets their owners. Returns their UIDs.
async fn built(client: &Client, graph: &Graph) -> Vec<String> {
    client.post("/api/v1/namespaces", &named("other", &[])).await.fine();
    let mut made = Vec::new();
    for (number, (at, _)) in graph.0.iter().enumerate() {
        made.push(client.post(at.all(), &named(&format!("n{number}"), &[])).await.fine());
    }
    for (number, (at, owners)) in graph.0.iter().enumerate() {
        let owners: Vec<Value> =
            owners.iter().map(|(of, blocks)| owner(&made[*of], graph.0[*of].0.kind(), *blocks)).collect();
        let owned = json!({"metadata": {"ownerReferences": owners}});
        client.merge(&format!("{}/n{number}", at.all()), &owned).await.fine();
    }
    made.iter().map(|object| object["metadata"]["uid"].as_str().unwrap().to_owned()).collect()
}

/// Returns the existing objects and their owners.
async fn there(client: &Client, uids: &[String]) -> Vec<Option<BTreeSet<usize>>> {
    let number = |uid: &Value| uids.iter().position(|known| *uid == **known);
    let mut all = vec![None; uids.len()];
    for path in ["/api/v1/configmaps", "/api/v1/nodes"] {
        for object in client.get(path).await.fine()["items"].as_array().unwrap() {
            let Some(which) = number(&object["metadata"]["uid"]) else { continue };
            let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
            all[which] = Some(owners.filter_map(|owner| number(&owner["uid"])).collect());
        }
    }
    all
}

/// Waits until the existing objects are the expected ones.
async fn same(client: &Client, oracle: &Oracle, uids: &[String]) {
    let expected: Vec<_> = oracle.0.iter().map(|(_, owners)| owners.clone()).collect();
    let mut found = Vec::new();
    for _ in 0..1000 {
        found = there(client, uids).await;
        if found == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(found, expected);
}

#[tokio::test]
async fn an_owner_recreated_under_its_name_owns_nothing() {
    let server =
        ApiServer::builder(Memory::new(Options::default())).crds([definition()]).start().await.unwrap();
    let client = Client::of(&server);
    let a = client.post(MAPS, &named("a", &[])).await.fine();
    client.delete(&format!("{MAPS}/a")).await.fine();
    client.post(MAPS, &named("a", &[])).await.fine();
    client.post(MAPS, &named("b", &[owner(&a, "ConfigMap", true)])).await.fine();
    gone(&client, &format!("{MAPS}/b")).await;
}
