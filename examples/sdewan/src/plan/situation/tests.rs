//! Tests of situations.

use std::slice::from_ref;

use super::*;
use serde_json::{Value, from_value, json};

fn deployment(name: &str, replicas: i32, available: i32) -> Arc<Deployment> {
    Arc::new(
        from_value(json!({
            "metadata": {"name": name, "uid": format!("d-{name}"), "generation": 2},
            "spec": {"replicas": replicas, "selector": {}, "template": {}},
            "status": {"observedGeneration": 2, "updatedReplicas": replicas, "availableReplicas": available},
        }))
        .unwrap(),
    )
}

fn set(name: &str, of: &str) -> Arc<ReplicaSet> {
    let owners =
        json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "x", "uid": of, "controller": true}]);
    Arc::new(
        from_value(json!({
            "metadata": {"name": name, "uid": format!("s-{name}"), "ownerReferences": owners},
            "spec": {"selector": {}},
        }))
        .unwrap(),
    )
}

fn pod(name: &str, of: &str, more: Value) -> Arc<Pod> {
    let owners =
        json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "x", "uid": of, "controller": true}]);
    let mut pod = json!({
        "metadata": {"name": name, "uid": name, "ownerReferences": owners},
        "spec": {"containers": [{"name": "cnf", "ports": [{"name": "rest", "containerPort": 8443}]}]},
        "status": {"podIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]},
    });
    for (part, fields) in more.as_object().unwrap() {
        pod[part].as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    }
    Arc::new(from_value(pod).unwrap())
}

fn ready(
    deployments: &[Arc<Deployment>],
    sets: &[Arc<ReplicaSet>],
    pods: &[Arc<Pod>],
) -> Result<usize, String> {
    match assess(deployments, sets, pods).0 {
        CnfSituation::Ready { pods, .. } => Ok(pods.len()),
        CnfSituation::NotReady { reason, .. } => Err(reason),
        other => Err(format!("{other:?}")),
    }
}

#[test]
fn a_cnf_is_ready_as_a_whole() {
    let (set, one, two) = (set("s", "d-a"), pod("p1", "s-s", json!({})), pod("p2", "s-s", json!({})));
    let both = [one.clone(), two];
    assert_eq!(ready(&[deployment("a", 2, 2)], from_ref(&set), &both), Ok(2));
    assert!(ready(&[deployment("a", 2, 1)], from_ref(&set), &both).unwrap_err().contains("1 are available"));
    assert!(
        ready(&[deployment("a", 2, 2)], from_ref(&set), from_ref(&one))
            .unwrap_err()
            .contains("1 pods are known")
    );
    let unready = pod("p2", "s-s", json!({"status": {"conditions": []}}));
    assert!(
        ready(&[deployment("a", 2, 2)], from_ref(&set), &[one.clone(), unready])
            .unwrap_err()
            .contains("p2 is not ready")
    );
    let homeless = pod("p2", "s-s", json!({"status": {"podIP": ""}}));
    assert!(ready(&[deployment("a", 2, 2)], &[set], &[one, homeless]).unwrap_err().contains("no address"));
    assert_eq!(assess(&[], &[], &[]).0, CnfSituation::Absent);
}

#[test]
fn pods_of_every_replica_set_count_but_terminating_ones() {
    let sets = [set("old", "d-a"), set("new", "d-a"), set("other", "d-b")];
    let gone = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    let pods = [
        pod("p1", "s-old", json!({})),
        pod("p2", "s-new", json!({})),
        pod("p3", "s-old", gone),
        pod("p4", "s-other", json!({})),
        pod("p5", "s-new", json!({"status": {"phase": "Failed"}})),
    ];
    assert_eq!(ready(&[deployment("a", 1, 1)], &sets, &pods), Ok(2));
}

#[test]
fn two_deployments_are_named_and_a_terminating_one_yields() {
    let (one, two) = (deployment("b", 1, 1), deployment("a", 1, 1));
    let ambiguous = CnfSituation::Ambiguous { deployments: vec!["a".into(), "b".into()] };
    assert_eq!(assess(&[one.clone(), two.clone()], &[], &[]).0, ambiguous);
    let mut terminating = (*one).clone();
    terminating.metadata.deletion_timestamp = Some(from_value(json!("2026-01-01T00:00:00Z")).unwrap());
    let situation = assess(&[Arc::new(terminating.clone()), two], &[], &[]).0;
    assert_eq!(situation.deployment(), Some("a"));
    let alone = assess(&[Arc::new(terminating)], &[], &[]).0;
    assert!(matches!(alone, CnfSituation::NotReady { .. }), "{alone:?}");
}

#[test]
fn a_cnf_without_replicas_is_empty_once_no_pod_is_left() {
    let gone = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    let last = pod("p1", "s-s", gone);
    let (set, none) = (set("s", "d-a"), deployment("a", 0, 0));
    assert!(!matches!(assess(from_ref(&none), from_ref(&set), &[last]).0, CnfSituation::Empty { .. }));
    assert!(matches!(assess(&[none], &[set], &[]).0, CnfSituation::Empty { .. }));
}
