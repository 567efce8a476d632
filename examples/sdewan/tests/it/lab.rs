//! A lab: an API server, Deployments with pods as a kubelet would report them, CNFs in memory, and
//! agents, all in virtual time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use machinery::k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use machinery::k8s_openapi::api::core::v1::{Pod, Secret};
use machinery::objects::{Deletion, ObjectKey, Patch, PatchFormat, Preconditions, Writer};
use machinery::testing::CrashGate;
use machinery::tokio::time::{Instant, sleep};
use machinery::{Objects, Plane, RuntimeKind};
use sdewan::agent::{Agent, AgentSettings};
use sdewan::drive::fake::{FakeCnf, FakeCnfs};
use sdewan::drive::{CnfConnector, CnfInterface};
use sdewan::model::names::{GROUP, VERSION};
use sdewan::model::{CollectionId, SdewanKind, SdewanObject, SyncStatus, definitions};
use serde_json::{Value, from_value, json};

/// The networks of every CNF.
const NETWORKS: &str = r#"{"type":"ovn4nfv","interface":[{"name":"net-a","interface":"net1"},{"name":"net-b","interface":"net2"}]}"#;
pub(crate) const NICS: &[&str] = &["net1", "net2"];
/// Above any back-off, in virtual time.
pub(crate) const DEADLINE: Duration = Duration::from_secs(900);

type KindClient = (RuntimeKind<SdewanObject>, Arc<dyn Writer<SdewanObject>>);

pub(crate) struct Lab {
    pub(crate) server: Plane,
    pub(crate) agent: Option<Plane>,
    pub(crate) cnfs: FakeCnfs,
    pub(crate) interface: CnfInterface,
    pub(crate) settings: AgentSettings,
    kinds: BTreeMap<&'static str, KindClient>,
    pub(crate) deployments: Objects<Deployment>,
    sets: Objects<ReplicaSet>,
    pub(crate) pods: Objects<Pod>,
    pub(crate) secrets: Objects<Secret>,
    addresses: u32,
    /// Counts the writes of agents to the API server.
    gate: Arc<CrashGate>,
}

impl Lab {
    /// Starts the server, without an agent.
    pub(crate) async fn new(interface: CnfInterface) -> Self {
        let start = machinery::embedded().paused_clock().server(|server| server.crds(definitions()));
        let server = start.start().await.unwrap();
        let mut kinds = BTreeMap::new();
        for resource in SdewanKind::all_served() {
            let objects = server.kind_named::<SdewanObject>(&resource.name()).unwrap();
            let writer = server.writer_of_kind(&objects);
            if resource.group == GROUP {
                objects.served().await.unwrap();
                kinds.insert(resource.kind.kind, (objects, writer));
            }
        }
        Self {
            deployments: server.objects().unwrap(),
            sets: server.objects().unwrap(),
            pods: server.objects().unwrap(),
            secrets: server.objects().unwrap(),
            cnfs: FakeCnfs::default(),
            interface,
            settings: AgentSettings { drift: Duration::from_secs(60), ..AgentSettings::default() },
            kinds,
            agent: None,
            server,
            addresses: 0,
            gate: CrashGate::open(),
        }
    }

    pub(crate) async fn start_agent(&mut self) {
        let plane = self.agent_plane(Some(&self.gate), Arc::new(self.cnfs.clone())).await;
        self.agent = Some(plane);
    }

    /// Starts an agent behind a gate.
    pub(crate) async fn agent_plane(
        &self,
        gate: Option<&Arc<CrashGate>>,
        connector: Arc<dyn CnfConnector>,
    ) -> Plane {
        let builder = self.server.beside();
        let builder = match gate {
            Some(gate) => builder.crash_gate(gate),
            None => builder,
        };
        let plane = builder.start().await.unwrap();
        Agent::run(&plane, self.settings.clone(), connector).unwrap();
        plane
    }

    pub(crate) async fn stop_agent(&mut self) {
        if let Some(agent) = self.agent.take() {
            agent.stop().await;
        }
    }

    pub(crate) async fn stop(mut self) {
        self.stop_agent().await;
        self.server.stop().await;
    }

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

    pub(crate) async fn create(&self, kind: &str, name: &str, spec: Value) {
        self.create_for("cnf-1", kind, name, spec).await;
    }

    pub(crate) async fn create_for(&self, purpose: &str, kind: &str, name: &str, spec: Value) {
        let object = from_value(json!({
            "apiVersion": format!("{GROUP}/{VERSION}"), "kind": kind,
            "metadata": {"name": name, "namespace": "default", "labels": {"sdewanPurpose": purpose}},
            "spec": spec,
        }))
        .unwrap();
        self.kinds[kind].1.create(&object, None).await.unwrap();
    }

    pub(crate) async fn patch(&self, kind: &str, name: &str, patch: Value) {
        self.kinds[kind].1.patch(&key(name), &merge(&patch, false), &Preconditions::default()).await.unwrap();
    }

    pub(crate) async fn delete(&self, kind: &str, name: &str) {
        self.kinds[kind].1.delete(&key(name), &Deletion::default()).await.unwrap();
    }

    /// Returns whether a CR exists, and is not being deleted.
    pub(crate) async fn exists(&self, kind: &str, name: &str) -> bool {
        // The cache of this process follows the writes of this process.
        sleep(Duration::from_millis(5)).await;
        self.get(kind, name).is_some_and(|object| !object.is_being_deleted())
    }

    pub(crate) fn get(&self, kind: &str, name: &str) -> Option<Arc<SdewanObject>> {
        self.kinds[kind].0.get(&key(name))
    }

    pub(crate) fn status(&self, kind: &str, name: &str) -> SyncStatus {
        self.get(kind, name).map(|object| object.sync_status()).unwrap_or_default()
    }

    /// Waits until CRs are in sync, at their newest generation.
    pub(crate) async fn until_in_sync(&self, crs: &[(&str, &str)]) {
        let state = || {
            let mut late = crs.iter().filter(|(kind, name)| {
                self.get(kind, name).is_none_or(|object| {
                    let status = object.sync_status();
                    !status.in_sync || status.applied_generation != object.metadata.generation
                })
            });
            late.next().map(|(kind, name)| format!("{kind} {name}: {:?}", self.status(kind, name)))
        };
        self.until(state).await;
    }

    /// Waits until nothing is missing.
    pub(crate) async fn until(&self, missing: impl Fn() -> Option<String>) {
        let end = Instant::now() + DEADLINE;
        while let Some(missing) = missing() {
            assert!(Instant::now() < end, "{missing}");
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until an object is gone.
    pub(crate) async fn until_gone(&self, kind: &str, name: &str) {
        self.until(|| {
            self.get(kind, name).map(|object| format!("{kind} {name} is there: {:?}", object.status))
        })
        .await;
    }

    /// Lets time pass.
    pub(crate) async fn pass(&self, seconds: u64) {
        sleep(Duration::from_secs(seconds)).await;
    }
}

pub(crate) fn key(name: &str) -> ObjectKey {
    format!("default/{name}").parse().unwrap()
}

fn merge(body: &Value, status: bool) -> Patch {
    Patch { format: PatchFormat::Merge, body: serde_json::to_vec(body).unwrap().into(), status }
}

fn template(labels: &Value) -> Value {
    json!({
        "metadata": {"labels": labels, "annotations": {"k8s.plugin.opnfv.org/nfn-network": NETWORKS}},
        "spec": {"containers": [{"name": "cnf", "image": "cnf"}]},
    })
}

pub(crate) fn policy() -> Value {
    json!({"members": [{"network": "net-a", "metric": 1, "weight": 2}, {"network": "net-b", "metric": 1, "weight": 3}]})
}

pub(crate) fn rule(port: u16) -> Value {
    json!({"policy": "p1", "dest_ip": "0.0.0.0/0", "dest_port": port, "proto": "tcp"})
}

/// Returns the policies and rules of a CNF in order, rules with their port.
pub(crate) fn mwan3(cnf: &FakeCnf) -> String {
    let config = cnf.config();
    let names = |collection| {
        let objects = config.of(collection).iter().map(|one| {
            let port = one.object.text("dest_port");
            if port.is_empty() {
                one.object.name().to_owned()
            } else {
                format!("{}({port})", one.object.name())
            }
        });
        objects.collect::<Vec<_>>().join(",")
    };
    format!("{};{}", names(CollectionId::Policies), names(CollectionId::Mwan3Rules))
}
