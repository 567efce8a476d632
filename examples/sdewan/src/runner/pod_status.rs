//! The status of a pod, from the state of its CNF. Pure.

use jiff::Timestamp;
use machinery::k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus,
    Pod, PodCondition, PodIP, PodStatus,
};
use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::pod_spec::containers;

/// Returns the time in seconds, as statuses have it: a finer one would differ from the stored one.
#[must_use]
pub fn status_time() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

/// The state of a pod's CNF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CnfPhase {
    /// No node can run the pod.
    Unscheduled,
    /// It cannot start yet, for this reason and with this message.
    Waiting(&'static str, String),
    /// It runs.
    Running {
        /// The address.
        ip: String,
        /// The time of its start.
        since: Timestamp,
        /// The number of starts before this one.
        restarts: i32,
        /// Whether its probe succeeds.
        is_ready: bool,
    },
    /// It was killed.
    Stopped,
}

/// Returns the number of the restart that the next start is: 0 for the first start.
#[must_use]
pub fn next_restart(pod: &Pod) -> i32 {
    let first = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref()?.first().cloned());
    let Some(first) = first else { return 0 };
    let state = first.state.unwrap_or_default();
    // A pod that waits for a Secret has not started.
    let has_started = state.running.is_some() || state.terminated.is_some();
    first.restart_count + i32::from(has_started)
}

/// Returns the status of a pod, with the times of its present status where nothing changes.
#[must_use]
pub fn pod_status(pod: &Pod, phase: &CnfPhase, now: Timestamp) -> PodStatus {
    let before = pod.status.clone().unwrap_or_default();
    let is_scheduled = *phase != CnfPhase::Unscheduled;
    let is_ready = matches!(phase, CnfPhase::Running { is_ready: true, .. });
    let has_started = matches!(phase, CnfPhase::Running { .. } | CnfPhase::Stopped);
    let conditions = [
        ("PodScheduled", is_scheduled, "Unschedulable", "no node has the labels of the pod's nodeSelector"),
        ("Initialized", is_scheduled, "", ""),
        ("ContainersReady", is_ready, "ContainersNotReady", "the CNF is not ready"),
        ("Ready", is_ready, "ContainersNotReady", "the CNF is not ready"),
    ];
    let conditions = conditions.into_iter().filter(|(kind, ..)| is_scheduled || *kind == "PodScheduled");
    let conditions =
        conditions.map(|(kind, is, reason, message)| condition(&before, kind, (is, reason, message), now));
    let ip = match phase {
        CnfPhase::Running { ip, .. } => Some(ip.clone()),
        _ => None,
    };
    PodStatus {
        phase: Some(if has_started { "Running" } else { "Pending" }.into()),
        conditions: Some(conditions.collect()),
        host_ip: is_scheduled.then(|| "127.0.0.1".to_owned()),
        pod_ip: ip.clone(),
        pod_ips: ip.map(|ip| vec![PodIP { ip }]),
        start_time: is_scheduled.then(|| before.start_time.clone().unwrap_or(Time(now))),
        container_statuses: is_scheduled.then(|| {
            containers(pod)
                .iter()
                .map(|one| container(pod, &before, (&one.name, one.image.as_deref()), phase, now))
                .collect()
        }),
        observed_generation: pod.metadata.generation,
        // Fields of others, as the server's.
        ..before.clone()
    }
}

fn container(
    pod: &Pod,
    before: &PodStatus,
    (name, image): (&str, Option<&str>),
    phase: &CnfPhase,
    now: Timestamp,
) -> ContainerStatus {
    let statuses = before.container_statuses.as_deref().unwrap_or_default();
    let previous = statuses.iter().find(|status| status.name == name);
    let previous_state = previous.and_then(|status| status.state.clone()).unwrap_or_default();
    let mut last_state = previous.and_then(|status| status.last_state.clone());
    let mut restart_count = previous.map_or(0, |status| status.restart_count);
    let terminated = || {
        previous_state.terminated.clone().unwrap_or_else(|| ContainerStateTerminated {
            exit_code: 137,
            reason: Some("Stopped".into()),
            finished_at: Some(Time(now)),
            started_at: previous_state.running.as_ref().and_then(|running| running.started_at.clone()),
            ..ContainerStateTerminated::default()
        })
    };
    let state = match phase {
        CnfPhase::Running { since, restarts, .. } => {
            if *restarts != restart_count {
                last_state =
                    Some(ContainerState { terminated: Some(terminated()), ..ContainerState::default() });
            }
            restart_count = *restarts;
            let running = ContainerStateRunning { started_at: Some(Time(*since)) };
            ContainerState { running: Some(running), ..ContainerState::default() }
        }
        CnfPhase::Stopped => ContainerState { terminated: Some(terminated()), ..ContainerState::default() },
        CnfPhase::Waiting(reason, message) => {
            restart_count = next_restart(pod);
            let waiting =
                ContainerStateWaiting { reason: Some((*reason).into()), message: Some(message.clone()) };
            ContainerState { waiting: Some(waiting), ..ContainerState::default() }
        }
        CnfPhase::Unscheduled => ContainerState::default(),
    };
    ContainerStatus {
        name: name.into(),
        image: image.unwrap_or_default().into(),
        image_id: String::new(),
        ready: matches!(phase, CnfPhase::Running { is_ready: true, .. }),
        started: Some(matches!(phase, CnfPhase::Running { .. })),
        restart_count,
        state: Some(state),
        last_state,
        ..previous.cloned().unwrap_or_default()
    }
}

fn condition(
    before: &PodStatus,
    kind: &str,
    (is, reason, message): (bool, &str, &str),
    now: Timestamp,
) -> PodCondition {
    let status = if is { "True" } else { "False" };
    let conditions = before.conditions.as_deref().unwrap_or_default();
    let same = conditions.iter().find(|one| one.type_ == kind && one.status == status);
    PodCondition {
        type_: kind.into(),
        status: status.into(),
        reason: (!is && !reason.is_empty()).then(|| reason.into()),
        message: (!is && !message.is_empty()).then(|| message.into()),
        last_transition_time: same.map_or(Some(Time(now)), |one| one.last_transition_time.clone()),
        ..PodCondition::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod() -> Pod {
        let value =
            json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "cnf", "image": "i"}]}});
        serde_json::from_value(value).unwrap()
    }

    fn with(status: PodStatus) -> Pod {
        Pod { status: Some(status), ..pod() }
    }

    fn running(restarts: i32, is_ready: bool) -> CnfPhase {
        CnfPhase::Running { ip: "127.30.0.1".into(), since: Timestamp::UNIX_EPOCH, restarts, is_ready }
    }

    #[test]
    fn a_pod_that_was_killed_counts_a_restart_at_its_next_start() {
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(next_restart(&pod()), 0);
        let started = with(pod_status(&pod(), &running(0, true), now));
        let stopped = with(pod_status(&started, &CnfPhase::Stopped, now));
        assert_eq!(next_restart(&stopped), 1);
        assert_eq!(stopped.status.as_ref().unwrap().pod_ip, None);
        let again = with(pod_status(&stopped, &running(1, false), now));
        let container = &again.status.as_ref().unwrap().container_statuses.as_ref().unwrap()[0];
        assert_eq!((container.restart_count, container.ready), (1, false));
        assert!(container.last_state.as_ref().unwrap().terminated.is_some());
        // A runner that is started again has lost the CNFs of the former one.
        assert_eq!(next_restart(&again), 2);
    }

    #[test]
    fn a_waiting_pod_has_not_started() {
        let waiting = CnfPhase::Waiting("ContainerCreating", "secret \"s\" not found".into());
        let waiting = with(pod_status(&pod(), &waiting, Timestamp::UNIX_EPOCH));
        assert_eq!(next_restart(&waiting), 0);
        assert_eq!(waiting.status.unwrap().phase.as_deref(), Some("Pending"));
    }

    #[test]
    fn a_status_without_a_change_is_the_same() {
        let first = with(pod_status(&pod(), &running(0, true), Timestamp::UNIX_EPOCH));
        let second = pod_status(
            &first,
            &running(0, true),
            Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_secs(60),
        );
        assert_eq!(first.status.unwrap(), second);
    }
}
