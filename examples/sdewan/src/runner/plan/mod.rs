//! The decisions of the runner: the sets and pods of a Deployment, and its status. Pure.
//!
//! * [`plan`]: the steps for one Deployment
//! * [`NodeChoice`]: the node of a pod

mod nodes;
mod pods;
mod rollout;
mod sets;
mod status;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use machinery::k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus, ReplicaSet, ReplicaSetStatus};
use machinery::k8s_openapi::api::core::v1::{Node, Pod};

pub use nodes::NodeChoice;
pub(super) use pods::is_unscheduled;
pub use pods::{is_ready, is_terminating};

/// The objects around a Deployment.
#[derive(Clone, Copy)]
pub struct DeploymentView<'a> {
    /// The Deployment.
    pub deployment: &'a Deployment,
    /// Its ReplicaSets, by the owner's UID.
    pub sets: &'a [Arc<ReplicaSet>],
    /// The pods of these sets, by the owner's UID.
    pub pods: &'a [Arc<Pod>],
    /// All nodes.
    pub nodes: &'a [Arc<Node>],
    /// The time.
    pub now: Timestamp,
}

/// A step of the runner. Steps are independent of each other, and each may fail alone.
#[derive(Clone, Debug, PartialEq)]
pub enum RunnerStep {
    /// Creates a ReplicaSet.
    CreateSet(Box<ReplicaSet>),
    /// Sets the number of replicas of a ReplicaSet.
    ScaleSet(Arc<ReplicaSet>, i32),
    /// Deletes a ReplicaSet beyond the history limit.
    DeleteSet(Arc<ReplicaSet>),
    /// Writes the status of a ReplicaSet.
    SetStatus(Arc<ReplicaSet>, ReplicaSetStatus),
    /// Creates a pod.
    CreatePod(Box<Pod>),
    /// Deletes a pod.
    DeletePod(Arc<Pod>),
    /// Writes the status of the Deployment.
    Status(Box<DeploymentStatus>),
}

/// Returns the steps towards the spec of a Deployment. `suffix` returns another random suffix of a
/// pod's name at each call. Without a difference there is none.
pub fn plan(view: &DeploymentView<'_>, mut suffix: impl FnMut() -> String) -> Vec<RunnerStep> {
    if view.deployment.metadata.deletion_timestamp.is_some() {
        // The garbage collector deletes sets and pods.
        return Vec::new();
    }
    let mut steps = Vec::new();
    let hash = sets::template_hash(view.deployment);
    let by_set = pods::by_set(view);
    match sets::newest(view, &hash) {
        None => steps.extend(sets::create(view, &hash).map(|set| RunnerStep::CreateSet(Box::new(set)))),
        Some(newest) => {
            let replicas = rollout::replicas(view, &newest, &by_set);
            for set in view.sets {
                let wanted = replicas.get(sets::uid(set)).copied().unwrap_or_default();
                if sets::replicas(set) != wanted {
                    steps.push(RunnerStep::ScaleSet(set.clone(), wanted));
                }
                pods::steps(view, set, wanted, &by_set, &mut suffix, &mut steps);
            }
            steps.extend(sets::beyond_history(view, &newest, &by_set).map(RunnerStep::DeleteSet));
        }
    }
    for set in view.sets {
        let status = status::of_set(set, &by_set, view.now);
        if set.status.as_ref() != Some(&status) {
            steps.push(RunnerStep::SetStatus(set.clone(), status));
        }
    }
    let status = status::of_deployment(view, &hash, &by_set);
    if view.deployment.status.as_ref() != Some(&status) {
        steps.push(RunnerStep::Status(Box::new(status)));
    }
    steps
}

/// The pods of each ReplicaSet, by its UID.
type PodsBySet<'a> = BTreeMap<&'a str, Vec<&'a Arc<Pod>>>;
