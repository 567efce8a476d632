//! The statuses of a Deployment and its sets.

use std::sync::Arc;

use jiff::Timestamp;
use machinery::k8s_openapi::api::apps::v1::{
    DeploymentCondition, DeploymentStatus, ReplicaSet, ReplicaSetStatus,
};
use machinery::k8s_openapi::api::core::v1::Pod;
use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{DeploymentView, PodsBySet, pods, rollout, sets};

/// Returns the status of a set.
pub(super) fn of_set(set: &ReplicaSet, by_set: &PodsBySet<'_>, now: Timestamp) -> ReplicaSetStatus {
    let pods = present(set, by_set);
    let ready = count(pods.iter().filter(|pod| pods::is_ready(pod)));
    let available = count(pods.iter().filter(|pod| pods::is_available(pod, set, now)));
    ReplicaSetStatus {
        replicas: count(pods.iter()),
        fully_labeled_replicas: nonzero(count(pods.iter())),
        ready_replicas: nonzero(ready),
        available_replicas: nonzero(available),
        observed_generation: set.metadata.generation,
        conditions: set.status.as_ref().and_then(|status| status.conditions.clone()),
        terminating_replicas: None,
    }
}

/// Returns the status of a Deployment.
pub(super) fn of_deployment(
    view: &DeploymentView<'_>,
    hash: &str,
    by_set: &PodsBySet<'_>,
) -> DeploymentStatus {
    let newest = sets::newest(view, hash);
    let (mut all, mut updated, mut ready, mut available) = (0, 0, 0, 0);
    for set in view.sets {
        let pods = present(set, by_set);
        all += count(pods.iter());
        ready += count(pods.iter().filter(|pod| pods::is_ready(pod)));
        available += count(pods.iter().filter(|pod| pods::is_available(pod, set, view.now)));
        if newest.as_ref().is_some_and(|newest| Arc::ptr_eq(newest, set)) {
            updated = count(pods.iter());
        }
    }
    let spec = &view.deployment.spec;
    let desired = spec.replicas.unwrap_or(1);
    let (_, may_be_missing) = rollout::budgets(spec, desired);
    let is_available = available >= desired - may_be_missing;
    let is_complete = updated == desired && all == desired && available == desired;
    DeploymentStatus {
        observed_generation: view.deployment.metadata.generation,
        replicas: nonzero(all),
        updated_replicas: nonzero(updated),
        ready_replicas: nonzero(ready),
        available_replicas: nonzero(available),
        unavailable_replicas: nonzero((all.max(desired) - available).max(0)),
        conditions: Some(vec![
            condition(
                view,
                "Available",
                is_available,
                match is_available {
                    true => ("MinimumReplicasAvailable", "Deployment has minimum availability."),
                    false => ("MinimumReplicasUnavailable", "Deployment does not have minimum availability."),
                },
            ),
            condition(
                view,
                "Progressing",
                true,
                match is_complete {
                    true => ("NewReplicaSetAvailable", "The newest ReplicaSet has all replicas."),
                    false => ("ReplicaSetUpdated", "The newest ReplicaSet is progressing."),
                },
            ),
        ]),
        collision_count: None,
        terminating_replicas: None,
    }
}

/// Returns a condition, with the times of the present one where it is the same.
fn condition(
    view: &DeploymentView<'_>,
    kind: &str,
    is: bool,
    (reason, message): (&str, &str),
) -> DeploymentCondition {
    let status = if is { "True" } else { "False" };
    let conditions = view.deployment.status.as_ref().and_then(|status| status.conditions.as_deref());
    let before =
        conditions.unwrap_or_default().iter().find(|condition| condition.type_.as_deref() == Some(kind));
    let now = Some(Time(view.now));
    let (mut transition, mut update) = (now.clone(), now);
    if let Some(before) = before {
        if before.status.as_deref() == Some(status) {
            transition = before.last_transition_time.clone();
        }
        if before.status.as_deref() == Some(status) && before.reason.as_deref() == Some(reason) {
            update = before.last_update_time.clone();
        }
    }
    DeploymentCondition {
        type_: Some(kind.into()),
        status: Some(status.into()),
        reason: Some(reason.into()),
        message: Some(message.into()),
        last_transition_time: transition,
        last_update_time: update,
    }
}

fn present<'a>(set: &ReplicaSet, by_set: &PodsBySet<'a>) -> Vec<&'a Arc<Pod>> {
    let pods = by_set.get(sets::uid(set)).into_iter().flatten();
    pods.copied().filter(|pod| !pods::is_terminating(pod)).collect()
}

fn count<T>(items: impl Iterator<Item = T>) -> i32 {
    i32::try_from(items.count()).unwrap_or(i32::MAX)
}

const fn nonzero(number: i32) -> Option<i32> {
    if number == 0 { None } else { Some(number) }
}
