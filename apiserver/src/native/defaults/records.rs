//! Volumes, networks, nodes and classes.

use serde_json::{Value, json};

use super::{complete, each, fill, inside, volume, within};

/// How long a client stays with its pod, in seconds.
const SESSION: i64 = 10_800;

/// The status of a new volume or claim.
pub(super) fn begin(object: &mut Value) {
    object["status"] = json!({"phase": "Pending"});
}

pub(super) fn persistent_volume(object: &mut Value) {
    within(object, "status", |status| fill(status, "phase", "Pending"));
    inside(object, "spec", |spec| {
        fill(spec, "persistentVolumeReclaimPolicy", "Retain");
        fill(spec, "volumeMode", "Filesystem");
        inside(spec, "hostPath", |path| fill(path, "type", ""));
        volume::devices(spec);
    });
}

pub(super) fn persistent_volume_claim(object: &mut Value) {
    within(object, "status", |status| fill(status, "phase", "Pending"));
    inside(object, "spec", |spec| fill(spec, "volumeMode", "Filesystem"));
}

pub(super) fn node(node: &mut Value) {
    inside(node, "status", |status| {
        let capacity = status["capacity"].clone();
        if status["allocatable"].is_null() && capacity.is_object() {
            status["allocatable"] = capacity;
        }
    });
}

pub(super) fn service(service: &mut Value) {
    inside(service, "spec", |spec| {
        fill(spec, "sessionAffinity", "None");
        match spec["sessionAffinity"].as_str() {
            Some("None") => drop(spec.as_object_mut().and_then(|spec| spec.remove("sessionAffinityConfig"))),
            Some("ClientIP") if spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"].is_null() => {
                spec["sessionAffinityConfig"] = json!({"clientIP": {"timeoutSeconds": SESSION}});
            }
            _ => {}
        }
        fill(spec, "type", "ClusterIP");
        each(spec, "ports", |port| {
            fill(port, "protocol", "TCP");
            if port["targetPort"] == 0 {
                port["targetPort"] = Value::Null;
            }
            let number = port["port"].clone();
            fill(port, "targetPort", number);
        });
        let kind = spec["type"].as_str().unwrap_or_default().to_owned();
        let is_balanced = kind == "LoadBalancer";
        let has_external = spec["externalIPs"].as_array().is_some_and(|ips| !ips.is_empty());
        if is_balanced || kind == "NodePort" || kind == "ClusterIP" && has_external {
            fill(spec, "externalTrafficPolicy", "Cluster");
        }
        if is_balanced || kind == "NodePort" || kind == "ClusterIP" {
            fill(spec, "internalTrafficPolicy", "Cluster");
        }
        if is_balanced {
            fill(spec, "allocateLoadBalancerNodePorts", true);
        }
    });
    if service["spec"]["type"] == "LoadBalancer" {
        inside(service, "status", |status| {
            inside(status, "loadBalancer", |balancer| {
                each(balancer, "ingress", |ingress| {
                    if ingress["ip"].as_str().is_some_and(|ip| !ip.is_empty()) {
                        fill(ingress, "ipMode", "VIP");
                    }
                });
            });
        });
    }
}

pub(super) fn endpoints(endpoints: &mut Value) {
    each(endpoints, "subsets", |subset| each(subset, "ports", |port| fill(port, "protocol", "TCP")));
}

pub(super) fn endpoint_slice(slice: &mut Value) {
    each(slice, "ports", |port| {
        fill(port, "name", "");
        fill(port, "protocol", "TCP");
    });
}

pub(super) fn network_policy(policy: &mut Value) {
    inside(policy, "spec", |spec| {
        for rules in ["ingress", "egress"] {
            each(spec, rules, |rule| each(rule, "ports", |port| fill(port, "protocol", "TCP")));
        }
        if spec["policyTypes"].as_array().is_none_or(Vec::is_empty) {
            let leaves = spec["egress"].as_array().is_some_and(|rules| !rules.is_empty());
            spec["policyTypes"] = if leaves { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
        }
    });
}

pub(super) fn limit_range(range: &mut Value) {
    inside(range, "spec", |spec| {
        each(spec, "limits", |limit| {
            if limit["type"] != "Container" {
                return;
            }
            let (most, least) = (limit["max"].clone(), limit["min"].clone());
            complete(&mut limit["default"], &most);
            let default = limit["default"].clone();
            complete(&mut limit["defaultRequest"], &default);
            complete(&mut limit["defaultRequest"], &least);
            // An empty map is left out, as in Go.
            if let Some(limit) = limit.as_object_mut() {
                limit.retain(|_, value| !value.is_null());
            }
        });
    });
}

pub(super) fn priority_class(class: &mut Value) {
    fill(class, "preemptionPolicy", "PreemptLowerPriority");
}

pub(super) fn storage_class(class: &mut Value) {
    fill(class, "reclaimPolicy", "Delete");
    fill(class, "volumeBindingMode", "Immediate");
}
