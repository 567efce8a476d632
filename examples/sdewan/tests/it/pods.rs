//! Deployments and pods of a lab, with the statuses that their controllers would report.

use machinery::k8s_openapi::api::apps::v1::Deployment;
use machinery::objects::Preconditions;
use sdewan::drive::fake::FakeCnf;
use serde_json::{Value, from_value, json};

use crate::lab::{DEADLINE, Lab, NICS, key, merge};

/// The networks of every CNF.
const NETWORKS: &str = r#"{"type":"ovn4nfv","interface":[{"name":"net-a","interface":"net1"},{"name":"net-b","interface":"net2"}]}"#;
impl Lab {
    /// Creates a Deployment with ready pods `NAME-1`, ….
    pub(crate) async fn deploy(&mut self, name: &str, purpose: &str, replicas: i32) {
        let labels = json!({"sdewanPurpose": purpose, "app": name});
        let deployment = from_value(json!({
            "metadata": {"name": name, "namespace": "default", "labels": labels},
            "spec": {
                "replicas": replicas, "selector": {"matchLabels": {"app": name}},
                "template": template(&labels),
            },
        }))
        .unwrap();
        let deployment = self.deployments.create(&deployment).await.unwrap().object;
        self.replica_set(&deployment, &format!("{name}-rs")).await;
        for number in 1..=replicas {
            self.start_pod(&format!("{name}-rs"), &format!("{name}-{number}")).await;
        }
        self.report(name).await;
    }

    pub(crate) async fn replica_set(&self, deployment: &Deployment, name: &str) {
        let (owner, labels) = (&deployment.metadata, deployment.metadata.labels.clone());
        let owners = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": owner.name, "uid": owner.uid, "controller": true}]);
        let set = from_value(json!({
            "metadata": {"name": name, "namespace": "default", "labels": labels, "ownerReferences": owners},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template(&json!(labels))},
        }))
        .unwrap();
        self.sets.create(&set).await.unwrap();
    }

    /// Sets the replicas of a Deployment; its controller has not observed it yet.
    pub(crate) async fn scale(&self, name: &str, replicas: i32) {
        let patch = merge(&json!({"spec": {"replicas": replicas}}), false);
        self.deployments.patch(&key(name), &patch, &Preconditions::default()).await.unwrap();
    }

    /// Returns the number of writes of the agent to the API server so far.
    pub(crate) fn api_writes(&self) -> usize {
        self.gate.effects()
    }

    /// Creates a ready pod with an empty CNF at a new address.
    pub(crate) async fn start_pod(&mut self, set: &str, name: &str) {
        let set = self.sets.until(DEADLINE, |sets| sets.get(&key(set))).await.unwrap();
        let owners = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": set.metadata.name, "uid": set.metadata.uid, "controller": true}]);
        let pod = from_value(json!({
            "metadata": {"name": name, "namespace": "default", "labels": set.metadata.labels, "ownerReferences": owners},
            "spec": {"containers": [{"name": "cnf", "image": "cnf", "ports": [{"name": "rest", "containerPort": 8443}]}]},
        }))
        .unwrap();
        self.pods.create(&pod).await.unwrap();
        let ip = self.new_address();
        self.cnfs.start(&ip, self.interface, NICS);
        self.pod_status(name, &ip, true, 0).await;
    }

    pub(crate) fn new_address(&mut self) -> String {
        self.addresses += 1;
        format!("10.0.0.{}", self.addresses)
    }

    pub(crate) async fn pod_status(&self, name: &str, ip: &str, ready: bool, restarts: i32) {
        let ready = if ready { "True" } else { "False" };
        let status = json!({"status": {
            "phase": "Running", "podIP": ip, "conditions": [{"type": "Ready", "status": ready}],
            "containerStatuses": [{"name": "cnf", "image": "cnf", "imageID": "", "ready": ready == "True", "restartCount": restarts}],
        }});
        self.pods.patch(&key(name), &merge(&status, true), &Preconditions::default()).await.unwrap();
    }

    /// Reports the status of a Deployment from its pods, as its controller would.
    pub(crate) async fn report(&self, deployment: &str) {
        let deployment = self
            .deployments
            .list(&Default::default())
            .await
            .unwrap()
            .into_iter()
            .find(|one| one.metadata.name.as_deref() == Some(deployment))
            .unwrap();
        let pods = self.pods.list(&Default::default()).await.unwrap();
        let app = deployment.metadata.labels.as_ref().unwrap()["app"].clone();
        let own =
            pods.iter().filter(|pod| pod.metadata.labels.as_ref().is_some_and(|labels| labels["app"] == app));
        let (mut all, mut ready) = (0, 0);
        for pod in own.filter(|pod| pod.metadata.deletion_timestamp.is_none()) {
            all += 1;
            let conditions =
                pod.status.as_ref().and_then(|status| status.conditions.clone()).unwrap_or_default();
            ready += i32::from(conditions.iter().any(|one| one.type_ == "Ready" && one.status == "True"));
        }
        let status = json!({"status": {
            "observedGeneration": deployment.metadata.generation, "replicas": all, "updatedReplicas": all,
            "readyReplicas": ready, "availableReplicas": ready, "unavailableReplicas": all - ready,
        }});
        let name = deployment.metadata.name.clone().unwrap();
        self.deployments.patch(&key(&name), &merge(&status, true), &Preconditions::default()).await.unwrap();
    }

    /// Returns the CNF of a pod.
    pub(crate) async fn cnf(&self, pod: &str) -> FakeCnf {
        self.cnfs.get(&self.ip(pod).await).unwrap()
    }

    pub(crate) async fn ip(&self, pod: &str) -> String {
        let pods = self.pods.list(&Default::default()).await.unwrap();
        let pod = pods.iter().find(|one| one.metadata.name.as_deref() == Some(pod)).unwrap();
        pod.status.as_ref().unwrap().pod_ip.clone().unwrap()
    }

    /// Stops a pod: its CNF is gone, and it is not ready.
    pub(crate) async fn stop_pod(&self, deployment: &str, pod: &str) {
        let ip = self.ip(pod).await;
        self.cnfs.stop(&ip);
        self.pod_status(pod, &ip, false, 0).await;
        self.report(deployment).await;
    }

    /// Starts a stopped pod again: empty, at another address.
    pub(crate) async fn restart_pod(&mut self, deployment: &str, pod: &str) {
        let ip = self.new_address();
        self.cnfs.start(&ip, self.interface, NICS);
        self.pod_status(pod, &ip, true, 1).await;
        self.report(deployment).await;
    }
}

fn template(labels: &Value) -> Value {
    json!({
        "metadata": {"labels": labels, "annotations": {"k8s.plugin.opnfv.org/nfn-network": NETWORKS}},
        "spec": {"containers": [{"name": "cnf", "image": "cnf"}]},
    })
}
