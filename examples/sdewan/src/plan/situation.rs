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
mod tests {
    use super::*;
    use serde_json::{Value, from_value, json};

    fn deployment(name: &str, replicas: i32, available: i32) -> Arc<Deployment> {
        Arc::new(from_value(json!({
            "metadata": {"name": name, "uid": format!("d-{name}"), "generation": 2},
            "spec": {"replicas": replicas, "selector": {}, "template": {}},
            "status": {"observedGeneration": 2, "updatedReplicas": replicas, "availableReplicas": available},
        }))
        .unwrap())
    }

    fn set(name: &str, of: &str) -> Arc<ReplicaSet> {
        let owners = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "x", "uid": of, "controller": true}]);
        Arc::new(
            from_value(json!({
                "metadata": {"name": name, "uid": format!("s-{name}"), "ownerReferences": owners},
                "spec": {"selector": {}},
            }))
            .unwrap(),
        )
    }

    fn pod(name: &str, of: &str, more: Value) -> Arc<Pod> {
        let owners = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "x", "uid": of, "controller": true}]);
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
        assert_eq!(ready(&[deployment("a", 2, 2)], &[set.clone()], &both), Ok(2));
        assert!(
            ready(&[deployment("a", 2, 1)], &[set.clone()], &both).unwrap_err().contains("1 are available")
        );
        assert!(
            ready(&[deployment("a", 2, 2)], &[set.clone()], &[one.clone()])
                .unwrap_err()
                .contains("1 pods are known")
        );
        let unready = pod("p2", "s-s", json!({"status": {"conditions": []}}));
        assert!(
            ready(&[deployment("a", 2, 2)], &[set.clone()], &[one.clone(), unready])
                .unwrap_err()
                .contains("p2 is not ready")
        );
        let homeless = pod("p2", "s-s", json!({"status": {"podIP": ""}}));
        assert!(
            ready(&[deployment("a", 2, 2)], &[set], &[one, homeless]).unwrap_err().contains("no address")
        );
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
        assert!(!matches!(assess(&[none.clone()], &[set.clone()], &[last]).0, CnfSituation::Empty { .. }));
        assert!(matches!(assess(&[none], &[set], &[]).0, CnfSituation::Empty { .. }));
    }
}
