//! The known keys of `spec.hard`, and the scopes allowed with each.

/// The old names: objects that were counted before there was `count/`.
pub(super) const OBJECTS: [&str; 7] = [
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
];

const SERVICES: [&str; 2] = ["services.loadbalancers", "services.nodeports"];

const AMOUNTS: [&str; 10] = [
    "cpu",
    "ephemeral-storage",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
    "requests.storage",
];

/// Returns whether Kubernetes knows a key that has no slash.
pub(super) fn is_standard(key: &str) -> bool {
    OBJECTS.contains(&key)
        || SERVICES.contains(&key)
        || AMOUNTS.contains(&key)
        || key.starts_with("hugepages-")
        || key.starts_with("requests.hugepages-")
}

/// Returns whether a key allows only whole numbers.
pub(super) fn is_whole(key: &str, is_name: impl Fn(&str) -> bool) -> bool {
    if OBJECTS.contains(&key) || SERVICES.contains(&key) {
        return true;
    }
    let is_native = !key.contains('/') || key.contains("kubernetes.io/");
    !is_native && !key.starts_with("requests.") && is_name(&format!("requests.{key}"))
}

/// Returns whether a scope may stand beside a key.
pub(super) fn fits(scope: &str, key: &str) -> bool {
    const COMPUTE: [&str; 6] =
        ["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];
    match scope {
        "BestEffort" => key == "pods",
        "CrossNamespacePodAffinity"
        | "NotBestEffort"
        | "NotTerminating"
        | "PriorityClass"
        | "Terminating" => key == "pods" || COMPUTE.contains(&key),
        "VolumeAttributesClass" => matches!(key, "persistentvolumeclaims" | "requests.storage"),
        _ => true,
    }
}

/// The scopes that there are.
pub(super) const SCOPES: [&str; 7] = [
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
    "VolumeAttributesClass",
];
