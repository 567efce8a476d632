//! The kubelet of the runner: starts, probes and kills the CNFs of pods, and writes their statuses.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use machinery::controllers::Controller;
use machinery::k8s_openapi::api::core::v1::{Pod, Secret};
use machinery::objects::{Object as _, ObjectKey};
use machinery::sync::Mutex;
use machinery::tokio_util::sync::CancellationToken;
use machinery::tokio_util::task::TaskTracker;
use machinery::{Next, Objects, Plane, PlaneController, Reconcile, Run};

use super::addresses::PodAddresses;
use super::cnf_pod::{NotStarted, PodSecrets, RunningCnf};
use super::plan::{is_terminating, is_unscheduled};
use super::pod_spec::{WantedState, secret_names, wanted_state};
use super::pod_status::{CnfPhase, next_restart, pod_status, status_time};
use crate::cnf::CnfServer;
use crate::model::names::PURPOSE_LABEL;

/// The delay of another try of a pod that cannot start. Its Secrets are watched.
const AGAIN: Duration = Duration::from_secs(10);

/// Runs the CNFs of pods. Cheap to clone.
#[derive(Clone)]
pub struct Kubelet(Arc<Shared>);

struct Shared {
    pods: Objects<Pod>,
    secrets: Objects<Secret>,
    addresses: PodAddresses,
    offers_v2: bool,
    running: Mutex<BTreeMap<ObjectKey, RunningCnf>>,
    tasks: TaskTracker,
    stopping: CancellationToken,
    controller: OnceLock<Controller<ObjectKey, ObjectKey>>,
}

impl Kubelet {
    /// Prepares the controller of pods.
    pub(super) fn new(
        plane: &Plane,
        addresses: PodAddresses,
        offers_v2: bool,
    ) -> machinery::Result<(Self, PlaneController<ObjectKey, ObjectKey>)> {
        let kubelet = Self(Arc::new(Shared {
            pods: plane.objects()?,
            secrets: plane.objects()?,
            addresses,
            offers_v2,
            running: Mutex::default(),
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
            controller: OnceLock::new(),
        }));
        let (users, owner) = (kubelet.clone(), kubelet.clone());
        let controller = plane
            .controller_of_requests::<ObjectKey>("runner-pods")
            .watching::<Pod, _>(|event| is_ours(event.object()).then(|| event.object().key()))?
            .watching::<Secret, _>(move |event| users.pods_with(event.object()))?
            .beside(move |controller, stopping| async move {
                // Set once: the controller runs once.
                let _ = owner.0.controller.set(controller);
                stopping.cancelled().await;
                owner.0.stopping.cancel();
                owner.0.running.lock().clear();
                owner.0.tasks.close();
                owner.0.tasks.wait().await;
            });
        Ok((kubelet, controller))
    }

    /// Returns the CNF of a pod, if it runs.
    #[must_use]
    pub fn cnf(&self, pod: &ObjectKey) -> Option<Arc<CnfServer>> {
        self.0.running.lock().get(pod).map(|pod| pod.server.clone())
    }

    /// Returns the CNFs that run, with the addresses of their pods.
    #[must_use]
    pub fn cnfs(&self) -> Vec<(ObjectKey, IpAddr, Arc<CnfServer>)> {
        let running = self.0.running.lock();
        running.iter().map(|(key, pod)| (key.clone(), pod.ip, pod.server.clone())).collect()
    }

    /// Returns the pods that use a Secret.
    fn pods_with(&self, secret: &Secret) -> Vec<ObjectKey> {
        let (namespace, name) = (secret.metadata.namespace.as_deref(), secret.metadata.name.as_deref());
        let uses = |pod: &Pod| {
            pod.metadata.namespace.as_deref() == namespace
                && is_ours(pod)
                && secret_names(pod).contains(&name)
        };
        let pods = self.0.pods.read();
        pods.iter().filter(|(_, pod)| uses(pod)).map(|(key, _)| key.clone()).collect()
    }

    fn secrets_of(&self, pod: &Pod) -> Result<PodSecrets, NotStarted> {
        let namespace = pod.metadata.namespace.as_deref();
        PodSecrets::read(secret_names(pod), |name| self.0.secrets.get(&ObjectKey::new(namespace, name).ok()?))
    }

    /// Brings the CNF of a pod to the state that the pod requires.
    async fn run_cnf(&self, key: &ObjectKey, pod: &Pod) -> CnfPhase {
        let wanted = wanted_state(pod);
        if is_unscheduled(pod) {
            return CnfPhase::Unscheduled;
        }
        if wanted == WantedState::Stopped {
            self.0.running.lock().remove(key);
            return match next_restart(pod) {
                0 => CnfPhase::Waiting("Stopped", "the annotation sdewan/state is `stopped`".into()),
                _ => CnfPhase::Stopped,
            };
        }
        let secrets = self.secrets_of(pod);
        if !self.0.running.lock().contains_key(key) {
            let started = match &secrets {
                Ok(secrets) => self.start(key, pod, secrets).await,
                Err(NotStarted(reason, message)) => Err(NotStarted(reason, message.clone())),
            };
            match started {
                Ok(cnf) => drop(self.0.running.lock().insert(key.clone(), cnf)),
                Err(NotStarted(reason, message)) => return CnfPhase::Waiting(reason, message),
            }
        }
        let running = self.0.running.lock();
        let Some(cnf) = running.get(key) else { return CnfPhase::Stopped };
        cnf.connectivity.set(wanted != WantedState::Disconnected);
        if let Ok(secrets) = &secrets {
            cnf.set_password(&secrets.password);
        }
        let (ip, since) = (cnf.ip.to_string(), cnf.since);
        CnfPhase::Running { ip, since, restarts: cnf.restarts, is_ready: cnf.is_ready() }
    }

    async fn start(
        &self,
        key: &ObjectKey,
        pod: &Pod,
        secrets: &PodSecrets,
    ) -> Result<RunningCnf, NotStarted> {
        let Shared { addresses, tasks, stopping, .. } = &*self.0;
        // Not the kubelet itself: its tasks would keep it.
        let (owner, changed) = (Arc::downgrade(&self.0), key.clone());
        let notify = move || {
            let (Some(owner), changed) = (owner.upgrade(), changed.clone()) else { return };
            let Some(controller) = owner.controller.get().cloned() else { return };
            owner.tasks.spawn(async move { controller.request(changed, &"its readiness changed").await });
        };
        let cnf =
            RunningCnf::start(pod, next_restart(pod), secrets, addresses, (tasks, stopping), notify).await?;
        cnf.server.offer_v2(self.0.offers_v2);
        Ok(cnf)
    }
}

impl Reconcile<ObjectKey> for Kubelet {
    type Error = machinery::Error;

    async fn reconcile(&self, key: &ObjectKey, run: &Run) -> machinery::Result<Next> {
        let pod = self.0.pods.get(key).filter(|pod| !is_terminating(pod));
        let uid = pod.as_ref().and_then(|pod| pod.metadata.uid.clone());
        {
            let mut running = self.0.running.lock();
            if running.get(key).is_some_and(|cnf| Some(&cnf.uid) != uid.as_ref()) {
                running.remove(key);
            }
        }
        let Some(pod) = pod else { return Ok(Next::Done) };
        let phase = self.run_cnf(key, &pod).await;
        let status = pod_status(&pod, &phase, status_time());
        if pod.status.as_ref() != Some(&status) {
            let changed = Pod { status: Some(status), ..(*pod).clone() };
            run.wrote(&self.0.pods.update_status(&changed).await?.token, &self.0.pods);
        }
        Ok(if matches!(phase, CnfPhase::Waiting(..)) { Next::After(AGAIN) } else { Next::Done })
    }
}

/// Returns whether the runner runs a pod: one of a ReplicaSet, with the label.
fn is_ours(pod: &Pod) -> bool {
    let owners = pod.metadata.owner_references.as_deref().unwrap_or_default();
    pod.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(PURPOSE_LABEL))
        && owners.iter().any(|owner| owner.controller == Some(true) && owner.kind == "ReplicaSet")
}
