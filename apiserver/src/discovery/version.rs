//! The order of versions and groups.

use std::cmp::Ordering;

/// Orders versions by preference: `v2`, `v1`, `v1beta2`, `v1beta1`, `v1alpha1`, then others by
/// name.
pub(crate) fn by_priority(a: &str, b: &str) -> Ordering {
    match (parse(a), parse(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// Orders groups by preference: those of Kubernetes in its order, then others by name.
pub(super) fn groups_by_priority(a: &str, b: &str) -> Ordering {
    group_priority(b).cmp(&group_priority(a)).then_with(|| a.cmp(b))
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Maturity {
    Alpha,
    Beta,
    Stable,
}

fn parse(version: &str) -> Option<(Maturity, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    let Some(at) = rest.find(|c: char| !c.is_ascii_digit()) else {
        return Some((Maturity::Stable, number(rest)?, 0));
    };
    let (major, rest) = rest.split_at(at);
    let (stage, minor) = match (rest.strip_prefix("alpha"), rest.strip_prefix("beta")) {
        (Some(minor), _) => (Maturity::Alpha, minor),
        (_, Some(minor)) => (Maturity::Beta, minor),
        _ => return None,
    };
    Some((stage, number(major)?, number(minor)?))
}

/// Returns the priority of a group in kube-apiserver. Custom groups have 1000.
pub(crate) fn group_priority(group: &str) -> u32 {
    match group {
        // Not from its table: the aggregator lists its own group first.
        "apiregistration.k8s.io" => 20_000,
        "" => 18_000,
        "apps" => 17_800,
        "events.k8s.io" => 17_750,
        "authentication.k8s.io" => 17_700,
        "authorization.k8s.io" => 17_600,
        "autoscaling" => 17_500,
        "batch" => 17_400,
        "certificates.k8s.io" => 17_300,
        "networking.k8s.io" => 17_200,
        "policy" => 17_100,
        "rbac.authorization.k8s.io" => 17_000,
        "storage.k8s.io" => 16_800,
        "apiextensions.k8s.io" | "admissionregistration.k8s.io" => 16_700,
        "scheduling.k8s.io" => 16_600,
        "coordination.k8s.io" => 16_500,
        "node.k8s.io" => 16_300,
        "discovery.k8s.io" => 16_200,
        _ => 1000,
    }
}
