//! A runner on an embedded API server.

use std::sync::Arc;
use std::time::Duration;

use machinery::apiserver::Identity;
use machinery::k8s_openapi::api::apps::v1::Deployment;
use machinery::k8s_openapi::api::core::v1::{Pod, Secret};
use machinery::objects::{ObjectKey, Patch, PatchFormat, Preconditions, Writer as _};
use machinery::tokio::time::{Instant, sleep};
use machinery::{Objects, Plane};
use serde_json::{Value, json};

use crate::drive::rest::{RestConnector, RestLimits};
use crate::drive::{Cnf, CnfConnector as _, CnfCredentials, PodTarget};
use crate::model::{CollectionId, RestObject};
use crate::runner::{Runner, RunnerSettings};
use crate::up::{PodRow, SampleError, kind_of, samples};

/// Ten times the time that a step may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(100);

pub(super) struct RunnerLab {
    pub(super) plane: Plane,
    pub(super) runner: Runner,
    pub(super) pods: Objects<Pod>,
    pub(super) deployments: Objects<Deployment>,
}

impl RunnerLab {
    /// A runner, with the samples' CNF but for its rules.
    pub(super) async fn new(replicas: u32) -> Self {
        let lab = Self::without_objects(RunnerSettings::default()).await;
        for sample in samples(replicas).unwrap().iter().take(4) {
            lab.create(sample).await.unwrap();
        }
        lab
    }

    pub(super) async fn without_objects(settings: RunnerSettings) -> Self {
        let plane = machinery::embedded().start().await.unwrap();
        let runner = Runner::start(&plane, settings).await.unwrap();
        let (pods, deployments) = (plane.objects().unwrap(), plane.objects().unwrap());
        Self { plane, runner, pods, deployments }
    }

    pub(super) async fn create(&self, object: &Value) -> Result<(), SampleError> {
        let server = self.plane.server().unwrap();
        server.handle_of::<Value>(kind_of(object)?, Identity::admin()).create(object, None).await.unwrap();
        Ok(())
    }

    pub(super) fn rows(&self) -> Vec<PodRow> {
        self.pods.read().iter().filter_map(|(_, pod)| PodRow::of(pod)).collect()
    }

    /// Waits until the pods are as a condition requires.
    pub(super) async fn until(&self, aim: &str, mut condition: impl FnMut(&[PodRow]) -> bool) -> Vec<PodRow> {
        let began = Instant::now();
        loop {
            let rows = self.rows();
            if condition(&rows) {
                return rows;
            }
            assert!(began.elapsed() < PATIENCE, "{aim}: {rows:?}");
            sleep(Duration::from_millis(20)).await;
        }
    }

    pub(super) async fn ready(&self, count: usize) -> Vec<PodRow> {
        let all = |rows: &[PodRow]| rows.len() == count && rows.iter().all(|pod| pod.is_ready);
        self.until("all are ready", all).await
    }

    pub(super) async fn deployment(
        &self,
        aim: &str,
        condition: impl Fn(&Deployment) -> bool,
    ) -> Arc<Deployment> {
        let key: ObjectKey = "default/cnf-1".parse().unwrap();
        let began = Instant::now();
        loop {
            let found = self.deployments.get(&key).filter(|found| condition(found));
            if let Some(found) = found {
                return found;
            }
            assert!(began.elapsed() < PATIENCE, "{aim}: {:?}", self.deployments.get(&key));
            sleep(Duration::from_millis(20)).await;
        }
    }

    pub(super) async fn patch<K: machinery::ObjectType>(&self, objects: &Objects<K>, key: &str, body: Value) {
        let patch =
            Patch { format: PatchFormat::Merge, body: body.to_string().into_bytes().into(), status: false };
        objects.patch(&key.parse().unwrap(), &patch, &Preconditions::default()).await.unwrap();
    }

    pub(super) async fn annotate(&self, pod: &PodRow, state: Value) {
        let body = json!({"metadata": {"annotations": {"sdewan/state": state}}});
        self.patch(&self.pods, &format!("{}/{}", pod.namespace, pod.name), body).await;
    }

    /// Returns a client of a pod's CNF, with the credentials in the Secrets.
    pub(super) async fn client(&self, pod: &PodRow) -> Arc<dyn Cnf> {
        let secrets = self.plane.objects::<Secret>().unwrap();
        secrets.informer().synced().await.unwrap();
        let value = |secret: &str, key: &str| {
            let secret = secrets.get(&format!("default/{secret}").parse().unwrap()).unwrap();
            secret.data.as_ref().unwrap()[key].0.clone()
        };
        let password = String::from_utf8(value("cnf-account", "password")).unwrap();
        let target = PodTarget {
            namespace: pod.namespace.clone(),
            name: pod.name.clone(),
            uid: String::new(),
            restarts: 0,
            ip: pod.ip.clone(),
            port: pod.port,
            credentials: CnfCredentials {
                user: "root".into(),
                password: password.as_str().into(),
                authority: Some(value("cnf-authority", "ca.crt").into()),
            },
            mac_key: b"key".as_slice().into(),
        };
        let limits = RestLimits { call: Duration::from_millis(500), ..RestLimits::default() };
        RestConnector::new(limits).connect(&target).unwrap()
    }
}

pub(super) fn policy() -> RestObject {
    let members = json!([{"interface": "net1", "metric": "1", "weight": "1"}]);
    RestObject::from_body(CollectionId::Policies, json!({"name": "p", "members": members})).unwrap()
}
