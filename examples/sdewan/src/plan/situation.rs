//! The situation of a CNF: its Deployment, the pods of all its ReplicaSets, and their readiness.

use std::collections::BTreeSet;
use std::sync::Arc;

use machinery::k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use machinery::k8s_openapi::api::core::v1::Pod;
use machinery::kube_core::ObjectMeta;

use crate::model::Networks;
use crate::model::names::{ACCOUNT_SECRET_LABEL, CERT_SECRET_LABEL, NETWORKS_ANNOTATION};

/// The situation of a CNF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CnfSituation {
    /// There is no Deployment.
    Absent,
    /// Several Deployments have the purpose: nothing is written to any of them.
    Ambiguous {
        /// Their names.
        deployments: Vec<String>,
    },
    /// The Deployment has no replicas and no pods are left.
    Empty {
        /// Its name.
        deployment: String,
    },
    /// Not all replicas are updated and available, or a pod is not ready.
    NotReady {
        /// The name of the Deployment.
        deployment: String,
        /// The reason.
        reason: String,
        /// The pods.
        pods: Vec<CnfPod>,
    },
    /// All pods are ready for writes.
    Ready {
        /// The name of the Deployment.
        deployment: String,
        /// The pods.
        pods: Vec<CnfPod>,
    },
}

/// A pod of a CNF that is not terminating.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CnfPod {
    /// The name.
    pub name: String,
    /// The UID.
    pub uid: String,
    /// The address; empty before it has one.
    pub ip: String,
    /// The sum of its containers' restart counts.
    pub restarts: i64,
    /// Whether the pod is ready.
    pub is_ready: bool,
    /// The container port named `rest`.
    pub rest_port: Option<u16>,
    /// The Secret with the password.
    pub account_secret: Option<String>,
    /// The Secret with the certificate authority.
    pub cert_secret: Option<String>,
}

/// Returns the situation of the CNF that these Deployments of one namespace and purpose are, with
/// its networks. ReplicaSets and pods may be those of others, too: owners decide, by UID.
#[must_use]
pub fn assess(
    deployments: &[Arc<Deployment>],
    sets: &[Arc<ReplicaSet>],
    pods: &[Arc<Pod>],
) -> (CnfSituation, Networks) {
    // A Deployment in foreground deletion is replaced by its successor, if there is one.
    let living: Vec<_> = deployments.iter().filter(|one| one.metadata.deletion_timestamp.is_none()).collect();
    let candidates: Vec<_> = if living.is_empty() { deployments.iter().collect() } else { living };
    let deployment = match *candidates {
        [] => return (CnfSituation::Absent, Networks::read(None)),
        [one] => one,
        _ => {
            let mut deployments: Vec<_> = candidates.iter().map(|one| name_of(&one.metadata)).collect();
            deployments.sort_unstable();
            return (CnfSituation::Ambiguous { deployments }, Networks::read(None));
        }
    };
    let networks = networks_of(deployment);
    let owned = pods_of(deployment, sets, pods);
    let name = name_of(&deployment.metadata);
    let replicas = deployment.spec.replicas.unwrap_or(1);
    if replicas == 0 && owned.is_empty() {
        return (CnfSituation::Empty { deployment: name }, networks);
    }
    let mut pods: Vec<_> = owned
        .iter()
        .filter(|pod| pod.metadata.deletion_timestamp.is_none())
        .map(|pod| cnf_pod(pod))
        .collect();
    pods.sort_by(|a, b| a.name.cmp(&b.name));
    let situation = match not_ready(deployment, replicas, &pods) {
        Some(reason) => CnfSituation::NotReady { deployment: name, reason, pods },
        None => CnfSituation::Ready { deployment: name, pods },
    };
    (situation, networks)
}

impl CnfSituation {
    /// Returns the name of the Deployment, if there is one only.
    #[must_use]
    pub fn deployment(&self) -> Option<&str> {
        match self {
            Self::Absent | Self::Ambiguous { .. } => None,
            Self::Empty { deployment }
            | Self::NotReady { deployment, .. }
            | Self::Ready { deployment, .. } => Some(deployment),
        }
    }

    /// Returns the pods that are not terminating.
    #[must_use]
    pub fn pods(&self) -> &[CnfPod] {
        match self {
            Self::NotReady { pods, .. } | Self::Ready { pods, .. } => pods,
            Self::Absent | Self::Ambiguous { .. } | Self::Empty { .. } => &[],
        }
    }

    /// Returns whether the pods get writes.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        matches!(self, Self::Ready { .. })
    }
}

/// Returns the networks of a Deployment's pod template.
fn networks_of(deployment: &Deployment) -> Networks {
    let template = deployment.spec.template.metadata.as_ref();
    let annotation = template.and_then(|metadata| metadata.annotations.as_ref()?.get(NETWORKS_ANNOTATION));
    Networks::read(annotation.map(String::as_str))
}

/// Returns the reason why a CNF gets no writes.
fn not_ready(deployment: &Deployment, replicas: i32, pods: &[CnfPod]) -> Option<String> {
    let name = name_of(&deployment.metadata);
    if deployment.metadata.deletion_timestamp.is_some() {
        return Some(format!("Deployment {name} is being deleted"));
    }
    let status = deployment.status.clone().unwrap_or_default();
    if status.observed_generation.unwrap_or(0) < deployment.metadata.generation.unwrap_or(0) {
        return Some(format!("Deployment {name} has changes that its controller has not yet observed"));
    }
    let (updated, available) = (status.updated_replicas.unwrap_or(0), status.available_replicas.unwrap_or(0));
    if updated < replicas || available < replicas {
        return Some(format!(
            "Deployment {name} is not ready: {updated} of {replicas} replicas are updated, {available} are available"
        ));
    }
    if let Some(pod) = pods.iter().find(|pod| !pod.is_ready || pod.ip.is_empty()) {
        let reason = if pod.is_ready { "has no address" } else { "is not ready" };
        return Some(format!("pod {} {reason}", pod.name));
    }
    // The caches of Deployments and pods are not of one moment.
    let known = i32::try_from(pods.len()).unwrap_or(i32::MAX);
    (known < replicas)
        .then(|| format!("Deployment {name} has {replicas} replicas, and {known} pods are known"))
}

/// Returns the pods of a Deployment: those of its ReplicaSets, by the UIDs of owners.
fn pods_of<'a>(deployment: &Deployment, sets: &[Arc<ReplicaSet>], pods: &'a [Arc<Pod>]) -> Vec<&'a Arc<Pod>> {
    let Some(uid) = deployment.metadata.uid.as_deref() else { return Vec::new() };
    let owned_sets: BTreeSet<_> = sets
        .iter()
        .filter(|set| controller_of(&set.metadata) == Some(uid))
        .filter_map(|set| set.metadata.uid.as_deref())
        .collect();
    let is_owned =
        |pod: &&Arc<Pod>| controller_of(&pod.metadata).is_some_and(|owner| owned_sets.contains(owner));
    // A pod that has ended serves nothing, and its container does not return.
    let is_over = |pod: &Pod| {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        matches!(phase, Some("Succeeded" | "Failed"))
    };
    pods.iter().filter(is_owned).filter(|pod| !is_over(pod)).collect()
}

fn controller_of(metadata: &ObjectMeta) -> Option<&str> {
    let owners = metadata.owner_references.as_ref()?;
    owners.iter().find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.as_str())
}

fn cnf_pod(pod: &Pod) -> CnfPod {
    let status = pod.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let containers = status.and_then(|status| status.container_statuses.as_deref()).unwrap_or_default();
    let ports = pod.spec.iter().flat_map(|spec| &spec.containers).flat_map(|one| one.ports.iter().flatten());
    let label = |name: &str| pod.metadata.labels.as_ref()?.get(name).filter(|text| !text.is_empty()).cloned();
    CnfPod {
        name: name_of(&pod.metadata),
        uid: pod.metadata.uid.clone().unwrap_or_default(),
        ip: status.and_then(|status| status.pod_ip.clone()).unwrap_or_default(),
        restarts: containers.iter().map(|container| i64::from(container.restart_count)).sum(),
        is_ready: conditions.iter().any(|one| one.type_ == "Ready" && one.status == "True"),
        rest_port: ports
            .filter(|port| port.name.as_deref() == Some("rest"))
            .find_map(|port| u16::try_from(port.container_port).ok()),
        account_secret: label(ACCOUNT_SECRET_LABEL),
        cert_secret: label(CERT_SECRET_LABEL),
    }
}

fn name_of(metadata: &ObjectMeta) -> String {
    metadata.name.clone().unwrap_or_default()
}

#[cfg(test)]
mod tests;
