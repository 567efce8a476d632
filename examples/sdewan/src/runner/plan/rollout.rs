//! The replicas of each set during a roll-out, as the Deployment controller of Kubernetes shares
//! them out.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinery::k8s_openapi::api::apps::v1::{DeploymentSpec, ReplicaSet};
use machinery::k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{DeploymentView, PodsBySet, pods, sets};

/// Returns the replicas that each set shall have, by its UID.
pub(super) fn replicas(
    view: &DeploymentView<'_>,
    newest: &Arc<ReplicaSet>,
    by_set: &PodsBySet<'_>,
) -> BTreeMap<String, i32> {
    let mut wanted: BTreeMap<String, i32> =
        view.sets.iter().map(|set| (sets::uid(set).to_owned(), sets::replicas(set))).collect();
    let spec = &view.deployment.spec;
    let desired = spec.replicas.unwrap_or(1);
    let new = sets::uid(newest).to_owned();
    let is_only = wanted.iter().all(|(uid, replicas)| *uid == new || *replicas == 0);
    if spec.paused == Some(true) {
        // A paused roll-out still scales, as long as there is one set only.
        if is_only {
            wanted.insert(new, desired);
        }
        return wanted;
    }
    if is_recreate(spec) {
        let others = by_set.iter().filter(|(uid, _)| **uid != new).map(|(_, pods)| pods.len()).sum::<usize>();
        wanted.iter_mut().filter(|(uid, _)| **uid != new).for_each(|(_, replicas)| *replicas = 0);
        if others == 0 {
            wanted.insert(new, desired);
        }
        return wanted;
    }
    let (surge, unavailable) = budgets(spec, desired);
    let current = wanted.get(&new).copied().unwrap_or_default();
    let total: i32 = wanted.values().sum();
    if current > desired {
        wanted.insert(new, desired);
        return wanted;
    }
    let more = (desired - current).min((desired + surge - total).max(0));
    if more > 0 {
        wanted.insert(new, current + more);
        return wanted;
    }
    scale_down(view, (&new, by_set), desired - unavailable, &mut wanted);
    wanted
}

/// Scales old sets down: first by pods that are not available, then by available ones as the
/// minimum permits.
fn scale_down(
    view: &DeploymentView<'_>,
    (new, by_set): (&str, &PodsBySet<'_>),
    minimum: i32,
    wanted: &mut BTreeMap<String, i32>,
) {
    let available = |set: &ReplicaSet| {
        let pods = by_set.get(sets::uid(set)).into_iter().flatten();
        let count = pods.filter(|pod| pods::is_available(pod, set, view.now)).count();
        i32::try_from(count).unwrap_or(i32::MAX)
    };
    let mut old: Vec<_> = view.sets.iter().filter(|set| sets::uid(set) != new).collect();
    old.sort_by_key(|set| sets::revision(set));
    let all_available: i32 = view.sets.iter().map(|set| available(set)).sum();
    let new_set = view.sets.iter().find(|set| sets::uid(set) == new);
    let new_unavailable = new_set.map_or(0, |set| sets::replicas(set) - available(set)).max(0);
    let mut budget = (wanted.values().sum::<i32>() - minimum - new_unavailable).max(0);
    for set in &old {
        if let Some(replicas) = wanted.get_mut(sets::uid(set)) {
            let down = (*replicas - available(set)).clamp(0, budget);
            *replicas -= down;
            budget -= down;
        }
    }
    let mut spare = (all_available - minimum).clamp(0, budget);
    for set in &old {
        if let Some(replicas) = wanted.get_mut(sets::uid(set)) {
            let down = (*replicas).clamp(0, spare);
            *replicas -= down;
            spare -= down;
        }
    }
}

/// Returns the pods that may exist beyond the desired number, and those of it that may be missing.
pub(super) fn budgets(spec: &DeploymentSpec, desired: i32) -> (i32, i32) {
    let rolling = spec.strategy.as_ref().and_then(|strategy| strategy.rolling_update.as_ref());
    let share = |value: Option<&IntOrString>, rounds_up: bool| match value {
        Some(IntOrString::Int(count)) => (*count).max(0),
        Some(IntOrString::String(text)) => percent(text.trim_end_matches('%'), desired, rounds_up),
        None => percent("25", desired, rounds_up),
    };
    let surge = share(rolling.and_then(|rolling| rolling.max_surge.as_ref()), true);
    let unavailable = share(rolling.and_then(|rolling| rolling.max_unavailable.as_ref()), false);
    match (surge, unavailable) {
        (0, 0) => (0, 1),
        budgets => budgets,
    }
}

fn percent(text: &str, desired: i32, rounds_up: bool) -> i32 {
    let percent: i64 = text.parse().unwrap_or(25);
    let hundredths = percent.max(0).saturating_mul(i64::from(desired));
    let share = if rounds_up { hundredths.saturating_add(99) / 100 } else { hundredths / 100 };
    i32::try_from(share).unwrap_or(i32::MAX >> 1)
}

fn is_recreate(spec: &DeploymentSpec) -> bool {
    let kind = spec.strategy.as_ref().and_then(|strategy| strategy.type_.as_deref());
    kind == Some("Recreate")
}
