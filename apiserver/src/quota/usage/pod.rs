//! Usage of pods: requested and limited resources, and the properties that scopes select.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Amounts, ScopeFacts};
use crate::quota::QuotaAmount;

/// Resources with keys of their own: the requests of each have two names.
const COMPUTE: [Compute; 3] = [
    Compute { name: "cpu", requests: "requests.cpu", limits: "limits.cpu" },
    Compute { name: "memory", requests: "requests.memory", limits: "limits.memory" },
    Compute {
        name: "ephemeral-storage",
        requests: "requests.ephemeral-storage",
        limits: "limits.ephemeral-storage",
    },
];

struct Compute {
    name: &'static str,
    requests: &'static str,
    limits: &'static str,
}

/// Keys that each container has to specify under a quota with them.
const SPECIFIED: [&str; 6] =
    ["cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory"];

/// Resources of a pod or container by name, in order.
type PodResources<'v> = BTreeMap<&'v str, QuotaAmount>;

/// Returns whether pods add to a key.
pub(super) fn is_key(key: &str) -> bool {
    let is_compute = |of: &Compute| [of.name, of.requests, of.limits].contains(&key);
    key == "pods"
        || COMPUTE.iter().any(is_compute)
        || key.starts_with("hugepages-")
        || key.starts_with("requests.hugepages-")
        || key.strip_prefix("requests.").is_some_and(is_extended)
}

pub(super) fn measure(pod: &Value) -> (Amounts, ScopeFacts) {
    (amounts(pod), facts(pod))
}

/// Returns the keys among `required` that containers of a pod leave unspecified, in the words of
/// Kubernetes: `limits.cpu for: a,b; memory for: a`.
pub(crate) fn unspecified<'k>(pod: &Value, required: impl IntoIterator<Item = &'k str>) -> Option<String> {
    let spec = &pod["spec"];
    if has_pod_level_resources(spec) {
        return None;
    }
    let required: BTreeSet<&str> = required.into_iter().filter(|key| SPECIFIED.contains(key)).collect();
    let lacks = |container: &&Value, key: &str| {
        let (field, name) = match key.split_once('.') {
            Some((field, name)) => (field, name),
            None => ("requests", key),
        };
        container["resources"][field][name].is_null()
    };
    let missing = required.into_iter().filter_map(|key| {
        let names: BTreeSet<&str> = containers(spec)
            .filter(|container| lacks(container, key))
            .filter_map(|container| container["name"].as_str())
            .collect();
        let names: Vec<&str> = names.into_iter().collect();
        (!names.is_empty()).then(|| format!("{key} for: {}", names.join(",")))
    });
    let missing: Vec<String> = missing.collect();
    (!missing.is_empty()).then(|| missing.join("; "))
}

/// Returns the amounts of a pod: none when it has ended.
fn amounts(pod: &Value) -> Amounts {
    if matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed")) {
        return Vec::new();
    }
    let mut amounts: Amounts = vec![("pods".into(), QuotaAmount::ONE)];
    let (requests, limits) = (total(pod, "requests"), total(pod, "limits"));
    for of in &COMPUTE {
        if let Some(amount) = requests.get(of.name) {
            amounts.push((of.name.into(), *amount));
            amounts.push((of.requests.into(), *amount));
        }
        if let Some(amount) = limits.get(of.name) {
            amounts.push((of.limits.into(), *amount));
        }
    }
    for (name, amount) in requests {
        if name.starts_with("hugepages-") {
            amounts.push((Cow::Owned(name.to_owned()), amount));
            amounts.push((format!("requests.{name}").into(), amount));
        } else if is_extended(name) {
            amounts.push((format!("requests.{name}").into(), amount));
        }
    }
    amounts
}

/// Sums the requests or limits of a pod as its scheduler does: containers run together, init
/// containers one after the other beside those that keep running.
fn total<'v>(pod: &'v Value, field: &str) -> PodResources<'v> {
    let spec = &pod["spec"];
    let mut sum = PodResources::new();
    for container in listed(&spec["containers"]) {
        add(&mut sum, &read(&container["resources"][field]));
    }
    let (mut kept, mut most) = (PodResources::new(), PodResources::new());
    for container in listed(&spec["initContainers"]) {
        let own = read(&container["resources"][field]);
        let mut beside = kept.clone();
        add(&mut beside, &own);
        if container["restartPolicy"] == "Always" {
            add(&mut sum, &own);
            kept.clone_from(&beside);
        }
        raise(&mut most, &beside);
    }
    raise(&mut sum, &most);
    let of_pod = read(&spec["resources"][field]);
    sum.extend(of_pod.into_iter().filter(|(name, _)| is_pod_level(name)));
    for (name, amount) in read(&spec["overhead"]) {
        match sum.get_mut(name) {
            Some(there) => *there = there.plus(amount),
            // A pod without a limit stays without one.
            None if field == "limits" => {}
            None => {
                sum.insert(name, amount);
            }
        }
    }
    sum
}

fn read(resources: &Value) -> PodResources<'_> {
    let resources = resources.as_object().into_iter().flatten();
    resources.map(|(name, amount)| (name.as_str(), QuotaAmount::read(amount))).collect()
}

fn add<'v>(sum: &mut PodResources<'v>, more: &PodResources<'v>) {
    for (name, amount) in more {
        let there = sum.entry(*name).or_insert(QuotaAmount::ZERO);
        *there = there.plus(*amount);
    }
}

fn raise<'v>(sum: &mut PodResources<'v>, least: &PodResources<'v>) {
    for (name, amount) in least {
        let there = sum.entry(*name).or_insert(*amount);
        *there = there.at_least(*amount);
    }
}

fn facts(pod: &Value) -> ScopeFacts {
    let spec = &pod["spec"];
    ScopeFacts::Pod {
        best_effort: is_best_effort(pod),
        terminating: spec["activeDeadlineSeconds"].as_i64().is_some_and(|seconds| seconds >= 0),
        priority_class: spec["priorityClassName"].as_str().unwrap_or_default().into(),
        cross_namespace: ["podAffinity", "podAntiAffinity"]
            .iter()
            .any(|kind| has_foreign_term(&spec["affinity"][kind])),
    }
}

/// Returns whether a pod requests and limits neither CPU nor memory.
fn is_best_effort(pod: &Value) -> bool {
    let spec = &pod["spec"];
    if let Some(class) = pod["status"]["qosClass"].as_str().filter(|class| !class.is_empty()) {
        return class == "BestEffort";
    }
    let asks = |resources: &Value| {
        ["requests", "limits"].iter().any(|field| {
            ["cpu", "memory"].iter().any(|name| !QuotaAmount::read(&resources[field][name]).is_zero())
        })
    };
    if has_pod_level_resources(spec) {
        return !asks(&spec["resources"]);
    }
    !containers(spec).any(|container| asks(&container["resources"]))
}

/// Returns whether an affinity has a term about pods of other namespaces.
fn has_foreign_term(affinity: &Value) -> bool {
    let is_foreign = |term: &Value| {
        term["namespaces"].as_array().is_some_and(|names| !names.is_empty())
            || !term["namespaceSelector"].is_null()
    };
    listed(&affinity["requiredDuringSchedulingIgnoredDuringExecution"]).any(is_foreign)
        || listed(&affinity["preferredDuringSchedulingIgnoredDuringExecution"])
            .any(|weighted| is_foreign(&weighted["podAffinityTerm"]))
}

fn has_pod_level_resources(spec: &Value) -> bool {
    ["requests", "limits"]
        .iter()
        .any(|field| read(&spec["resources"][field]).keys().any(|name| is_pod_level(name)))
}

/// Returns whether a resource may be requested for a pod as a whole.
fn is_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}

/// Returns whether a resource is one of a vendor: `example.com/gpu`.
fn is_extended(name: &str) -> bool {
    // Device classes are such resources although their domain is Kubernetes'.
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    (!is_native || name.starts_with("deviceclass.resource.kubernetes.io/")) && !name.starts_with("requests.")
}

fn containers(spec: &Value) -> impl Iterator<Item = &Value> {
    listed(&spec["containers"]).chain(listed(&spec["initContainers"]))
}

fn listed(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests;
