//! The status of a CR after a run.

use super::compose::{Problem, ProblemKind, Verdict};
use super::situation::CnfSituation;
use crate::model::names::{DELETING, IDLE, IN_SYNC, TRYING, UNKNOWN};
use crate::model::{AppliedTo, CnfKey, PodSync, SdewanObject, SyncCondition, SyncStatus};

/// The outcome of a pod for one CR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodOutcome {
    /// The pod holds the object as desired, by a read or a write of this run.
    Holds {
        /// Whether this run wrote it.
        written: bool,
    },
    /// It does not, or it is not known.
    Fails {
        /// The reason: the call and its answer.
        message: String,
        /// Whether a dependency is missing.
        is_dependency: bool,
    },
}

/// The input of a status.
#[derive(Clone, Debug)]
pub struct StatusInput<'a> {
    /// The CNF.
    pub cnf: &'a CnfKey,
    /// Its situation.
    pub situation: &'a CnfSituation,
    /// The verdict on the CR.
    pub verdict: &'a Verdict,
    /// The outcome of each pod; empty if the CR was not pushed.
    pub pods: &'a [(String, PodOutcome)],
    /// The resourceVersion that was read when applying.
    pub version: Option<&'a str>,
    /// The time of the run, RFC 3339.
    pub now: &'a str,
}

/// Returns the status of a CR. It equals the present one if nothing changed.
#[must_use]
pub fn status_of(object: &SdewanObject, input: &StatusInput<'_>) -> SyncStatus {
    let present = object.sync_status();
    let generation = object.metadata.generation;
    let (state, message) = state_and_message(object, input);
    let in_sync = state == IN_SYNC;
    let mut status = SyncStatus {
        state: state.to_owned(),
        message,
        in_sync,
        observed_generation: generation,
        pods: pods_of(input),
        applied_to: present.applied_to.clone(),
        ..SyncStatus::default()
    };
    let held = status.pods.iter().filter(|pod| pod.in_sync).count();
    let total = input.situation.pods().len();
    status.synced_pods = if total == 0 { String::new() } else { format!("{held}/{total}") };
    if in_sync {
        let written =
            input.pods.iter().any(|(_, outcome)| matches!(outcome, PodOutcome::Holds { written: true }));
        let is_kept = present.in_sync
            && present.applied_generation == generation
            && present.applied_time.is_some()
            && !written;
        (status.applied_version, status.applied_time) = match is_kept {
            true => (present.applied_version.clone(), present.applied_time.clone()),
            false => (input.version.map(str::to_owned), Some(input.now.to_owned())),
        };
        status.applied_generation = generation;
    }
    if matches!(input.verdict, Verdict::Included | Verdict::InUse { .. }) && !input.pods.is_empty() {
        status.applied_to = Some(AppliedTo {
            namespace: input.cnf.namespace.clone(),
            purpose: input.cnf.purpose.clone(),
            deployment: input.situation.deployment().unwrap_or_default().to_owned(),
        });
    }
    status.conditions = conditions(&status, &present, input, generation.unwrap_or(0));
    status
}

fn state_and_message(object: &SdewanObject, input: &StatusInput<'_>) -> (&'static str, String) {
    let trying = if object.is_being_deleted() { DELETING } else { TRYING };
    match input.situation {
        CnfSituation::Absent if input.cnf.purpose.is_empty() => {
            (IDLE, "the label sdewanPurpose is missing: it names the CNF".into())
        }
        CnfSituation::Absent => {
            (IDLE, format!("no Deployment in the namespace has sdewanPurpose={}", input.cnf.purpose))
        }
        CnfSituation::Ambiguous { deployments } => {
            let names = deployments.join(", ");
            (UNKNOWN, format!("More than one deployment exists: {names}; remove all but one"))
        }
        CnfSituation::Empty { deployment } => (trying, format!("Deployment {deployment} has no replicas")),
        CnfSituation::NotReady { reason, .. } => (trying, with_problem(reason, input.verdict)),
        CnfSituation::Ready { .. } => ready_state(trying, input),
    }
}

fn ready_state(trying: &'static str, input: &StatusInput<'_>) -> (&'static str, String) {
    match input.verdict {
        Verdict::Excluded(problem) => (trying, problem.message.clone()),
        Verdict::InUse { by } => (trying, format!("is used by {by}")),
        Verdict::Leaving => (trying, failures(input).unwrap_or_default()),
        Verdict::Included => match failures(input) {
            Some(message) => (trying, message),
            None if input.pods.is_empty() => (trying, "is not applied yet".into()),
            None => (IN_SYNC, String::new()),
        },
    }
}

fn with_problem(reason: &str, verdict: &Verdict) -> String {
    match verdict {
        Verdict::Excluded(problem) => format!("{reason}; {}", problem.message),
        _ => reason.to_owned(),
    }
}

/// Returns the failures of pods, each reason once with the pods that have it.
fn failures(input: &StatusInput<'_>) -> Option<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (pod, outcome) in input.pods {
        let PodOutcome::Fails { message, .. } = outcome else { continue };
        match reasons.iter_mut().find(|(known, _)| known == message) {
            Some((_, pods)) => pods.push(pod),
            None => reasons.push((message, vec![pod])),
        }
    }
    let texts: Vec<_> =
        reasons.into_iter().map(|(message, pods)| format!("pod {}: {message}", pods.join(", "))).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

fn pods_of(input: &StatusInput<'_>) -> Vec<PodSync> {
    let pod = |(name, outcome): &(String, PodOutcome)| match outcome {
        PodOutcome::Holds { .. } => PodSync { name: name.clone(), in_sync: true, message: String::new() },
        PodOutcome::Fails { message, .. } => {
            PodSync { name: name.clone(), in_sync: false, message: message.clone() }
        }
    };
    match input.verdict {
        Verdict::Included | Verdict::InUse { .. } => input.pods.iter().map(pod).collect(),
        Verdict::Leaving | Verdict::Excluded(_) => Vec::new(),
    }
}

fn conditions(
    status: &SyncStatus,
    present: &SyncStatus,
    input: &StatusInput<'_>,
    generation: i64,
) -> Vec<SyncCondition> {
    let is_dependency = |problem: &Problem| problem.kind == ProblemKind::MissingDependency;
    let awaited = match input.verdict {
        Verdict::Excluded(problem) if is_dependency(problem) => Some(problem.message.clone()),
        _ => input.pods.iter().find_map(|(_, outcome)| match outcome {
            PodOutcome::Fails { message, is_dependency: true } => Some(message.clone()),
            _ => None,
        }),
    };
    let dependencies = match &awaited {
        Some(message) => ("False", "Missing", message.clone()),
        None => ("True", "Met", String::new()),
    };
    let cnf = match input.situation {
        CnfSituation::Absent => ("False", "NoDeployment", status.message.clone()),
        CnfSituation::Ambiguous { .. } => ("Unknown", "Ambiguous", status.message.clone()),
        CnfSituation::Empty { .. } => ("False", "NoReplicas", status.message.clone()),
        CnfSituation::NotReady { reason, .. } => ("False", "NotReady", reason.clone()),
        CnfSituation::Ready { .. } => ("True", "Ready", String::new()),
    };
    let sync = match (status.in_sync, input.verdict) {
        (true, _) => ("True", "Applied"),
        (false, Verdict::Excluded(problem)) => ("False", reason_of(problem.kind)),
        (false, Verdict::InUse { .. }) => ("False", "InUse"),
        (false, Verdict::Leaving) => ("False", "Deleting"),
        (false, Verdict::Included) if input.situation.is_ready() => ("False", "Failed"),
        (false, Verdict::Included) => ("False", "CNFNotReady"),
    };
    [
        ("InSync", sync.0, sync.1, status.message.clone()),
        ("DependenciesMet", dependencies.0, dependencies.1, dependencies.2),
        ("CNFReady", cnf.0, cnf.1, cnf.2),
    ]
    .into_iter()
    .map(|(condition, value, reason, message)| {
        let since = present.condition(condition).filter(|old| old.status == value);
        SyncCondition {
            condition: condition.into(),
            status: value.into(),
            reason: reason.into(),
            message,
            last_transition_time: since.map_or(input.now, |old| &old.last_transition_time).to_owned(),
            observed_generation: generation,
        }
    })
    .collect()
}

const fn reason_of(kind: ProblemKind) -> &'static str {
    match kind {
        ProblemKind::Invalid => "Invalid",
        ProblemKind::NameTaken => "NameTaken",
        ProblemKind::MissingDependency => "DependencyMissing",
        ProblemKind::Moving => "Moving",
    }
}
