//! The Deployment controller of the runner: a thin shell around the plan.

use std::sync::Arc;
use std::time::Duration;

use machinery::k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use machinery::k8s_openapi::api::core::v1::{Node, Pod};
use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use machinery::objects::{Deletion, Object, ObjectKey, Preconditions, Uid, WriteError};
use machinery::{Next, Objects, Plane, PlaneController, Reconcile, Run};

use super::plan::{DeploymentView, RunnerStep, plan};
use super::pod_status::status_time;
use crate::model::names::PURPOSE_LABEL;

/// The interval of looks at a Deployment with `minReadySeconds`.
const LOOK: Duration = Duration::from_secs(1);

/// Keeps sets and pods as the Deployments with the label say. Cheap to clone.
#[derive(Clone)]
pub(super) struct Deployments {
    deployments: Objects<Deployment>,
    sets: Objects<ReplicaSet>,
    pods: Objects<Pod>,
    nodes: Objects<Node>,
}

impl Deployments {
    /// Prepares the controller.
    pub(super) fn new(plane: &Plane) -> machinery::Result<(Self, PlaneController<ObjectKey, ObjectKey>)> {
        let this = Self {
            deployments: plane.objects()?,
            sets: plane.objects()?,
            pods: plane.objects()?,
            nodes: plane.objects()?,
        };
        let (of_pods, of_nodes) = (this.clone(), this.clone());
        let controller = plane
            .controller_of_requests::<ObjectKey>("runner-deployments")
            .watching::<Deployment, _>(|event| {
                let deployment = event.object();
                is_ours(&deployment.metadata).then(|| deployment.key())
            })?
            .watching::<ReplicaSet, _>(|event| {
                let set = event.object();
                is_ours(&set.metadata).then(|| owner(&set.metadata, "Deployment")).flatten()
            })?
            .watching::<Pod, _>(move |event| {
                let metadata = &event.object().metadata;
                let set = is_ours(metadata).then(|| owner(metadata, "ReplicaSet")).flatten()?;
                owner(&of_pods.sets.get(&set)?.metadata, "Deployment")
            })?
            .watching::<Node, _>(move |_| {
                let all = of_nodes.deployments.read();
                let ours = all.iter().filter(|(_, deployment)| is_ours(&deployment.metadata));
                ours.map(|(key, _)| key.clone()).collect::<Vec<_>>()
            })?;
        Ok((this, controller))
    }

    async fn act(&self, key: &ObjectKey, step: RunnerStep, run: &Run) -> Result<(), WriteError> {
        match step {
            RunnerStep::CreateSet(set) => match self.sets.create(&set).await {
                // By an earlier run whose write the cache does not show yet.
                Err(WriteError::AlreadyExists { .. }) => {}
                created => run.wrote(&created?.token, &self.sets),
            },
            RunnerStep::ScaleSet(set, replicas) => {
                let mut changed = (*set).clone();
                changed.spec.replicas = Some(replicas);
                run.wrote(&self.sets.update(&changed).await?.token, &self.sets);
            }
            RunnerStep::DeleteSet(set) => delete(&self.sets, &*set, set.metadata.uid.as_deref()).await?,
            RunnerStep::SetStatus(set, status) => {
                let changed = ReplicaSet { status: Some(status), ..(*set).clone() };
                run.wrote(&self.sets.update_status(&changed).await?.token, &self.sets);
            }
            RunnerStep::CreatePod(pod) => run.wrote(&self.pods.create(&pod).await?.token, &self.pods),
            RunnerStep::DeletePod(pod) => delete(&self.pods, &*pod, pod.metadata.uid.as_deref()).await?,
            RunnerStep::Status(status) => {
                let Some(deployment) = self.deployments.get(key) else { return Ok(()) };
                let changed = Deployment { status: Some(*status), ..(*deployment).clone() };
                run.wrote(&self.deployments.update_status(&changed).await?.token, &self.deployments);
            }
        }
        Ok(())
    }
}

impl Reconcile<ObjectKey> for Deployments {
    type Error = machinery::Error;

    async fn reconcile(&self, key: &ObjectKey, run: &Run) -> machinery::Result<Next> {
        let Some(deployment) = self.deployments.get(key).filter(|one| is_ours(&one.metadata)) else {
            return Ok(Next::Done);
        };
        let sets =
            owned(&self.sets, key, |set| &set.metadata, std::slice::from_ref(&deployment.metadata.uid));
        let uids: Vec<_> = sets.iter().map(|set| set.metadata.uid.clone()).collect();
        let pods = owned(&self.pods, key, |pod| &pod.metadata, &uids);
        let nodes: Vec<_> = self.nodes.read().iter().map(|(_, node)| node.clone()).collect();
        let view = DeploymentView {
            deployment: &deployment,
            sets: &sets,
            pods: &pods,
            nodes: &nodes,
            now: status_time(),
        };
        let (mut first, mut has_further_steps) = (Ok(()), false);
        for step in plan(&view, random_suffix) {
            // Pods follow their set, and statuses follow pods.
            has_further_steps |= !matches!(step, RunnerStep::Status(_));
            // Each step for itself: a refused pod does not keep the status from being written.
            let acted = self.act(key, step, run).await;
            first = first.and(acted);
        }
        first?;
        let waits = deployment.spec.min_ready_seconds.is_some_and(|seconds| seconds > 0);
        Ok(match (has_further_steps, waits) {
            // The events of own writes request no run.
            (true, _) => Next::After(Duration::ZERO),
            (false, true) => Next::After(LOOK),
            (false, false) => Next::Done,
        })
    }
}

/// Returns the objects of a namespace that are controlled by an owner with one of these UIDs.
fn owned<K: machinery::ObjectType>(
    objects: &Objects<K>,
    of: &ObjectKey,
    metadata: impl Fn(&K) -> &ObjectMeta,
    uids: &[Option<String>],
) -> Vec<Arc<K>> {
    let is_owned = |one: &K| {
        let metadata = metadata(one);
        let owners = metadata.owner_references.as_deref().unwrap_or_default();
        let mut controllers = owners.iter().filter(|owner| owner.controller == Some(true));
        metadata.namespace.as_deref() == of.namespace()
            && controllers.any(|owner| uids.iter().flatten().any(|uid| *uid == owner.uid))
    };
    objects.read().iter().filter(|(_, one)| is_owned(one)).map(|(_, one)| one.clone()).collect()
}

fn owner(metadata: &ObjectMeta, kind: &str) -> Option<ObjectKey> {
    let owners = metadata.owner_references.as_deref().unwrap_or_default();
    let owner = owners.iter().find(|owner| owner.controller == Some(true) && owner.kind == kind)?;
    ObjectKey::new(metadata.namespace.as_deref(), &owner.name).ok()
}

async fn delete<K: machinery::ObjectType>(
    objects: &Objects<K>,
    object: &K,
    uid: Option<&str>,
) -> Result<(), WriteError> {
    let only_if = Preconditions { uid: uid.and_then(Uid::new), ..Preconditions::default() };
    match objects.delete_if(&object.key(), &Deletion { only_if, ..Deletion::default() }).await {
        Ok(_) | Err(WriteError::NotFound) => Ok(()),
        Err(error) => Err(error),
    }
}

fn is_ours(metadata: &ObjectMeta) -> bool {
    metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(PURPOSE_LABEL))
}

/// Five letters as in the names of Kubernetes' pods.
fn random_suffix() -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut bytes = [0_u8; 5];
    // Without randomness the names are equal, and the second create is refused.
    let _ = getrandom::fill(&mut bytes);
    let letter = |byte: u8| LETTERS.get(usize::from(byte) % LETTERS.len()).copied().unwrap_or(b'b');
    bytes.into_iter().map(|byte| char::from(letter(byte))).collect()
}
