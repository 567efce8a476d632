//! The pods of a ReplicaSet.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use machinery::k8s_openapi::api::apps::v1::ReplicaSet;
use machinery::k8s_openapi::api::core::v1::Pod;
use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{DeploymentView, NodeChoice, PodsBySet, RunnerStep, nodes, sets};

/// Returns the pods of each set.
pub(super) fn by_set<'a>(view: &DeploymentView<'a>) -> PodsBySet<'a> {
    let mut by_set = BTreeMap::<&str, Vec<&Arc<Pod>>>::new();
    for pod in view.pods {
        let owners = pod.metadata.owner_references.as_deref().unwrap_or_default();
        if let Some(owner) = owners.iter().find(|owner| owner.controller == Some(true)) {
            by_set.entry(&owner.uid).or_default().push(pod);
        }
    }
    by_set
}

/// Adds the steps towards the wanted number of pods of a set.
pub(super) fn steps(
    view: &DeploymentView<'_>,
    set: &Arc<ReplicaSet>,
    wanted: i32,
    by_set: &PodsBySet<'_>,
    suffix: &mut impl FnMut() -> String,
    steps: &mut Vec<RunnerStep>,
) {
    let all = by_set.get(sets::uid(set)).map(Vec::as_slice).unwrap_or_default();
    let mut active: Vec<&Arc<Pod>> = all.iter().copied().filter(|pod| is_active(pod)).collect();
    // A pod without a node cannot be given one later: another takes its place.
    let is_outdated = |pod: &&Arc<Pod>| is_unscheduled(pod) && nodes::choose(&pod.spec, view.nodes).is_some();
    for pod in active.extract_if(.., |pod| is_outdated(pod)) {
        steps.push(RunnerStep::DeletePod(pod.clone()));
    }
    let failed = all.iter().filter(|pod| !is_terminating(pod) && is_finished(pod));
    steps.extend(failed.map(|pod| RunnerStep::DeletePod((*pod).clone())));
    let wanted = usize::try_from(wanted).unwrap_or_default();
    for _ in active.len()..wanted {
        if let Some(pod) = create(view, set, &suffix()) {
            steps.push(RunnerStep::CreatePod(Box::new(pod)));
        }
    }
    // Pods that are not ready go first, then the youngest.
    active.sort_by_key(|pod| (is_ready(pod), std::cmp::Reverse(created(pod))));
    let beyond = active.len().saturating_sub(wanted);
    steps.extend(active.into_iter().take(beyond).map(|pod| RunnerStep::DeletePod(pod.clone())));
}

fn create(view: &DeploymentView<'_>, set: &ReplicaSet, suffix: &str) -> Option<Pod> {
    let template = set.spec.template.as_ref()?;
    let labels = template.metadata.as_ref().and_then(|metadata| metadata.labels.clone());
    let annotations = template.metadata.as_ref().and_then(|metadata| metadata.annotations.clone());
    let mut spec = template.spec.clone()?;
    // Without a node it stays pending.
    spec.node_name = nodes::choose(&Some(spec.clone()), view.nodes).map(|NodeChoice(node)| node);
    Some(Pod {
        metadata: ObjectMeta {
            name: Some(format!("{}-{suffix}", set.metadata.name.as_deref()?)),
            namespace: set.metadata.namespace.clone(),
            labels,
            annotations,
            owner_references: Some(vec![sets::owner("apps/v1", "ReplicaSet", &set.metadata)?]),
            ..ObjectMeta::default()
        },
        spec: Some(spec),
        status: None,
    })
}

/// Returns whether a pod has no node.
pub(in crate::runner) fn is_unscheduled(pod: &Pod) -> bool {
    pod.spec.as_ref().is_none_or(|spec| spec.node_name.as_deref().unwrap_or_default().is_empty())
}

fn is_finished(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Failed" | "Succeeded"))
}

fn is_active(pod: &Pod) -> bool {
    !is_terminating(pod) && !is_finished(pod)
}

/// Returns whether a pod is being deleted.
#[must_use]
pub fn is_terminating(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

/// Returns whether a pod is ready.
#[must_use]
pub fn is_ready(pod: &Pod) -> bool {
    ready_since(pod).is_some()
}

/// Returns whether a pod is ready for the time that its set requires.
pub(super) fn is_available(pod: &Pod, set: &ReplicaSet, now: Timestamp) -> bool {
    let seconds = set.spec.min_ready_seconds.unwrap_or_default();
    let needed = SignedDuration::from_secs(i64::from(seconds));
    !is_terminating(pod) && ready_since(pod).is_some_and(|since| now.duration_since(since) >= needed)
}

fn ready_since(pod: &Pod) -> Option<Timestamp> {
    let conditions = pod.status.as_ref()?.conditions.as_deref()?;
    let ready = conditions.iter().find(|condition| condition.type_ == "Ready")?;
    let since = ready.last_transition_time.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0);
    (ready.status == "True").then_some(since)
}

fn created(pod: &Pod) -> Option<Timestamp> {
    pod.metadata.creation_timestamp.as_ref().map(|time| time.0)
}
