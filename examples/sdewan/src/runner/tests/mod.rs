//! The runner on an embedded API server, with CNFs that answer over TLS.

mod lab;

use std::time::Duration;

use machinery::k8s_openapi::api::apps::v1::Deployment;
use machinery::k8s_openapi::api::core::v1::{Node, Secret};
use machinery::tokio::time::{Instant, sleep};
use serde_json::{Value, json};

use super::*;
use crate::drive::CnfErrorClass;
use crate::model::CollectionId;
use crate::up::{PodRow, samples};
use lab::{PATIENCE, RunnerLab, policy};

#[machinery::tokio::test(flavor = "multi_thread")]
async fn pods_become_ready_scale_and_go_with_their_deployment() {
    let lab = RunnerLab::new(2).await;
    let rows = lab.ready(2).await;
    assert!(rows.iter().all(|pod| pod.ip.starts_with("127.") && pod.port == 8443 && pod.purpose == "cnf-1"));
    assert_ne!(rows[0].ip, rows[1].ip);
    for pod in &rows {
        let cnf = lab.client(pod).await;
        cnf.create(&policy()).await.unwrap();
        assert_eq!(cnf.list(CollectionId::Policies).await.unwrap(), [policy()]);
    }
    let available = |count| move |one: &Deployment| one.status.as_ref().unwrap().available_replicas == count;
    lab.deployment("two are available", available(Some(2))).await;
    lab.patch(&lab.deployments, "default/cnf-1", json!({"spec": {"replicas": 3}})).await;
    lab.ready(3).await;
    lab.patch(&lab.deployments, "default/cnf-1", json!({"spec": {"replicas": 1}})).await;
    lab.ready(1).await;
    lab.patch(&lab.deployments, "default/cnf-1", json!({"spec": {"replicas": 0}})).await;
    lab.ready(0).await;
    lab.deployment("none is available", available(None)).await;
    lab.patch(&lab.deployments, "default/cnf-1", json!({"spec": {"replicas": 1}})).await;
    lab.ready(1).await;
    lab.deployments.delete(&"default/cnf-1".parse().unwrap()).await.unwrap();
    lab.until("the garbage collector has deleted it", <[_]>::is_empty).await;
    // Its kubelet kills the CNF after the object is gone.
    lab.until("the CNF is killed", |_| lab.runner.kubelet().cnfs().is_empty()).await;
    lab.plane.stop().await;
}

#[machinery::tokio::test(flavor = "multi_thread")]
async fn a_stopped_pod_is_not_ready_and_starts_empty_with_another_address() {
    let lab = RunnerLab::new(2).await;
    let before = lab.ready(2).await;
    let (first, other) = (&before[0], &before[1]);
    for pod in [first, other] {
        lab.client(pod).await.create(&policy()).await.unwrap();
    }
    let cnf = lab.client(first).await;
    lab.annotate(first, json!("stopped")).await;
    let stopped = lab
        .until("it is stopped", |rows| rows.iter().any(|pod| pod.name == first.name && pod.ip.is_empty()))
        .await;
    assert_eq!(stopped.len(), 2, "no other pod takes its place");
    assert_eq!(cnf.list(CollectionId::Policies).await.unwrap_err().class, CnfErrorClass::Unreachable);
    lab.deployment("one is missing", |one| one.status.as_ref().unwrap().unavailable_replicas == Some(1))
        .await;
    lab.annotate(first, Value::Null).await;
    let after = lab.ready(2).await;
    let again = after.iter().find(|pod| pod.name == first.name).unwrap();
    assert_eq!(again.restarts, 1);
    assert_ne!(again.ip, first.ip);
    assert_eq!(lab.client(again).await.list(CollectionId::Policies).await.unwrap(), []);
    assert_eq!(lab.client(other).await.list(CollectionId::Policies).await.unwrap(), [policy()]);
    lab.plane.stop().await;
}

#[machinery::tokio::test(flavor = "multi_thread")]
async fn a_disconnected_pod_is_not_ready_and_keeps_its_state_and_address() {
    let lab = RunnerLab::new(1).await;
    let before = lab.ready(1).await;
    let cnf = lab.client(&before[0]).await;
    cnf.create(&policy()).await.unwrap();
    lab.annotate(&before[0], json!("disconnected")).await;
    lab.until("the probe fails", |rows| rows.iter().all(|pod| !pod.is_ready)).await;
    let lost = cnf.delete(CollectionId::Policies, "p").await.unwrap_err();
    assert_eq!(lost.class, CnfErrorClass::Unreachable);
    lab.annotate(&before[0], Value::Null).await;
    let after = lab.ready(1).await;
    assert_eq!((&after[0].ip, after[0].restarts), (&before[0].ip, 0));
    assert_eq!(cnf.list(CollectionId::Policies).await.unwrap(), [policy()]);
    lab.plane.stop().await;
}

#[machinery::tokio::test(flavor = "multi_thread")]
async fn a_roll_out_keeps_the_deployment_available() {
    let lab = RunnerLab::new(2).await;
    let before = lab.ready(2).await;
    let body = json!({"spec": {"template": {"metadata": {"annotations": {"a": "b"}}}}});
    lab.patch(&lab.deployments, "default/cnf-1", body).await;
    let is_new = |pod: &PodRow| before.iter().all(|old| old.name != pod.name);
    let mut least = usize::MAX;
    lab.until("all are new", |rows| {
        least = least.min(rows.iter().filter(|pod| pod.is_ready).count());
        rows.len() == 2 && rows.iter().all(|pod| pod.is_ready && is_new(pod))
    })
    .await;
    assert!(least >= 2, "none of two may be missing: a quarter of two, rounded down");
    lab.plane.stop().await;
}

#[machinery::tokio::test(flavor = "multi_thread")]
async fn pods_wait_for_their_secrets_and_notice_another_password() {
    let lab = RunnerLab::without_objects(RunnerSettings::default()).await;
    let all = samples(1).unwrap();
    for sample in all.iter().skip(2).take(2) {
        lab.create(sample).await.unwrap();
    }
    let waits =
        |rows: &[PodRow]| rows.iter().any(|pod| pod.state.contains("secret \"cnf-account\" not found"));
    lab.until("it waits", waits).await;
    for sample in all.iter().take(2) {
        lab.create(sample).await.unwrap();
    }
    let rows = lab.ready(1).await;
    assert_eq!(rows[0].restarts, 0);
    lab.client(&rows[0]).await.list(CollectionId::Policies).await.unwrap();
    let old = lab.client(&rows[0]).await;
    let secrets = lab.plane.objects::<Secret>().unwrap();
    lab.patch(&secrets, "default/cnf-account", json!({"stringData": {"password": "another"}})).await;
    let began = Instant::now();
    while old.list(CollectionId::Zones).await.is_ok() {
        let (key, ..) = &lab.runner.kubelet().cnfs()[0];
        lab.runner.kubelet().cnf(key).unwrap().forget_sessions();
        assert!(began.elapsed() < PATIENCE);
        sleep(Duration::from_millis(20)).await;
    }
    lab.client(&rows[0]).await.list(CollectionId::Policies).await.unwrap();
    lab.plane.stop().await;
}

#[machinery::tokio::test(flavor = "multi_thread")]
async fn a_probe_of_another_port_without_tls_has_a_page_of_its_own() {
    let lab = RunnerLab::without_objects(RunnerSettings::default()).await;
    let mut all = samples(1).unwrap();
    let container = &mut all[3]["spec"]["template"]["spec"]["containers"][0];
    let probe = json!({"httpGet": {"path": "/", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 1});
    container["readinessProbe"] = probe;
    for sample in all.iter().take(4) {
        lab.create(sample).await.unwrap();
    }
    let rows = lab.ready(1).await;
    lab.client(&rows[0]).await.create(&policy()).await.unwrap();
    lab.plane.stop().await;
}

#[machinery::tokio::test(flavor = "multi_thread")]
async fn a_pod_waits_for_a_node_with_its_labels() {
    let lab = RunnerLab::without_objects(RunnerSettings::default()).await;
    for sample in samples(1).unwrap().iter().take(4).filter(|sample| sample["kind"] != "Node") {
        lab.create(sample).await.unwrap();
    }
    lab.until("it is pending", |rows| rows.len() == 1 && rows[0].state == "Pending").await;
    let node = samples(1).unwrap().into_iter().find(|sample| sample["kind"] == "Node").unwrap();
    lab.create(&node).await.unwrap();
    lab.ready(1).await;
    let pods = lab.pods.read();
    let (_, pod) = pods.iter().next().unwrap();
    assert_eq!(pod.spec.as_ref().unwrap().node_name.as_deref(), Some("edge-1"));
    lab.plane.stop().await;
}

#[machinery::tokio::test(flavor = "multi_thread")]
async fn an_unusable_annotation_is_reported_at_the_pod() {
    let lab = RunnerLab::without_objects(RunnerSettings::default()).await;
    let mut all = samples(1).unwrap();
    let annotations = &mut all[3]["spec"]["template"]["metadata"]["annotations"];
    annotations["k8s.plugin.opnfv.org/nfn-network"] = "{".into();
    for sample in all.iter().take(4) {
        lab.create(sample).await.unwrap();
    }
    lab.until("the reason is shown", |rows| {
        rows.iter().any(|pod| pod.state.contains("nfn-network is unusable"))
    })
    .await;
    lab.plane.stop().await;
}

#[machinery::tokio::test(flavor = "multi_thread")]
async fn the_runner_is_not_needed_where_a_kubelet_runs_pods() {
    let plane = machinery::embedded().start().await.unwrap();
    let nodes = plane.objects::<Node>().unwrap();
    let node: Node = serde_json::from_value(json!({"metadata": {"name": "n"}})).unwrap();
    let created = nodes.create(&node).await.unwrap().object;
    let info = json!({
        "kubeletVersion": "v1.32.0", "architecture": "amd64", "bootID": "", "containerRuntimeVersion": "",
        "kernelVersion": "", "kubeProxyVersion": "", "machineID": "", "operatingSystem": "linux", "osImage": "",
        "systemUUID": "",
    });
    let status = serde_json::from_value(json!({ "nodeInfo": info })).unwrap();
    nodes.update_status(&Node { status: Some(status), ..created }).await.unwrap();
    let refused = Runner::start(&plane, RunnerSettings::default()).await.err().unwrap();
    assert!(matches!(&refused, RunnerError::Kubelet { node } if node == "n"), "{refused}");
    assert!(refused.to_string().contains("not needed"));
    plane.stop().await;
}
