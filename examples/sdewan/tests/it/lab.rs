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
    pub(crate) sets: Objects<ReplicaSet>,
    pub(crate) pods: Objects<Pod>,
    pub(crate) secrets: Objects<Secret>,
    pub(crate) addresses: u32,
    /// Counts the writes of agents to the API server.
    pub(crate) gate: Arc<CrashGate>,
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

    pub(crate) async fn create(&self, kind: &str, name: &str, spec: Value) {
        self.create_for("cnf-1", kind, name, spec).await;
    }

    pub(crate) async fn create_for(&self, purpose: &str, kind: &str, name: &str, spec: Value) {
        assert!(self.try_create(purpose, kind, name, spec).await);
    }

    /// Creates a CR; returns whether there was none.
    pub(crate) async fn try_create(&self, purpose: &str, kind: &str, name: &str, spec: Value) -> bool {
        let object = from_value(json!({
            "apiVersion": format!("{GROUP}/{VERSION}"), "kind": kind,
            "metadata": {"name": name, "namespace": "default", "labels": {"sdewanPurpose": purpose}},
            "spec": spec,
        }))
        .unwrap();
        self.kinds[kind].1.create(&object, None).await.is_ok()
    }

    pub(crate) async fn patch(&self, kind: &str, name: &str, patch: Value) {
        assert!(self.try_patch(kind, name, patch).await);
    }

    pub(crate) async fn delete(&self, kind: &str, name: &str) {
        assert!(self.try_delete(kind, name).await);
    }

    /// Patches a CR; returns whether it exists.
    pub(crate) async fn try_patch(&self, kind: &str, name: &str, patch: Value) -> bool {
        self.kinds[kind].1.patch(&key(name), &merge(&patch, false), &Preconditions::default()).await.is_ok()
    }

    /// Deletes a CR; returns whether it exists.
    pub(crate) async fn try_delete(&self, kind: &str, name: &str) -> bool {
        self.kinds[kind].1.delete(&key(name), &Deletion::default()).await.is_ok()
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

pub(crate) fn merge(body: &Value, status: bool) -> Patch {
    Patch { format: PatchFormat::Merge, body: serde_json::to_vec(body).unwrap().into(), status }
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
