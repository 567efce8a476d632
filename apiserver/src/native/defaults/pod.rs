//! Pods, and the specs of pods in templates.

use serde_json::{Value, json};

use super::{complete, each, fill, fill_zero, inside, volume, within};

const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];
const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];

/// A pod has defaults that a template does not have.
pub(super) fn pod(pod: &mut Value) {
    inside(pod, "spec", |spec| {
        if spec["terminationGracePeriodSeconds"].as_i64().is_some_and(|seconds| seconds < 0) {
            spec["terminationGracePeriodSeconds"] = 1.into();
        }
        for containers in &CONTAINERS[..2] {
            each(spec, containers, |container| {
                inside(container, "resources", |resources| {
                    let limits = resources["limits"].clone();
                    if limits.is_object() {
                        complete(&mut resources["requests"], &limits);
                    }
                });
            });
        }
        fill(spec, "enableServiceLinks", true);
        host_ports(spec);
        of_spec(spec);
    });
    inside(pod, "status", addresses);
}

/// The status of a new pod.
pub(super) fn begin(pod: &mut Value) {
    let class = quality(&pod["spec"]);
    pod["status"] = json!({"phase": "Pending", "qosClass": class});
}

/// The spec of a pod, also in a template.
pub(super) fn of_spec(spec: &mut Value) {
    let account = spec["serviceAccountName"].as_str().filter(|name| !name.is_empty());
    let old = spec["serviceAccount"].as_str().filter(|name| !name.is_empty());
    // The deprecated field has the same name.
    if let Some(name) = account.or(old).map(str::to_owned) {
        spec["serviceAccountName"] = name.as_str().into();
        spec["serviceAccount"] = name.into();
    }
    fill(spec, "dnsPolicy", "ClusterFirst");
    fill(spec, "restartPolicy", "Always");
    fill(spec, "securityContext", json!({}));
    fill(spec, "terminationGracePeriodSeconds", 30);
    fill(spec, "schedulerName", "default-scheduler");
    each(spec, "volumes", volume::volume);
    for containers in CONTAINERS {
        each(spec, containers, container);
    }
}

/// The template of a workload.
pub(super) fn template(object: &mut Value, field: &str) {
    inside(object, field, |template| {
        within(template, "spec", of_spec);
    });
}

/// On the network of the host, the ports of a pod are ports of the host.
fn host_ports(spec: &mut Value) {
    if spec["hostNetwork"] != true {
        return;
    }
    for containers in &CONTAINERS[..2] {
        each(spec, containers, |container| {
            each(container, "ports", |port| {
                let number = port["containerPort"].as_i64().unwrap_or(0);
                fill_zero(port, "hostPort", number);
            });
        });
    }
}

fn container(container: &mut Value) {
    let image = container["image"].as_str().unwrap_or_default();
    let policy = if is_latest(image) { "Always" } else { "IfNotPresent" };
    fill(container, "imagePullPolicy", policy);
    fill(container, "terminationMessagePath", "/dev/termination-log");
    fill(container, "terminationMessagePolicy", "File");
    fill(container, "resources", json!({}));
    each(container, "ports", |port| fill(port, "protocol", "TCP"));
    each(container, "env", |variable| {
        inside(variable, "valueFrom", |source| {
            inside(source, "fieldRef", |field| fill(field, "apiVersion", "v1"));
            inside(source, "fileKeyRef", |key| fill(key, "optional", false));
        });
    });
    for name in PROBES {
        inside(container, name, probe);
    }
    inside(container, "lifecycle", |lifecycle| {
        for hook in ["postStart", "preStop"] {
            inside(lifecycle, hook, |hook| inside(hook, "httpGet", http_get));
        }
    });
}

fn probe(probe: &mut Value) {
    fill_zero(probe, "timeoutSeconds", 1);
    fill_zero(probe, "periodSeconds", 10);
    fill_zero(probe, "successThreshold", 1);
    fill_zero(probe, "failureThreshold", 3);
    inside(probe, "httpGet", http_get);
    inside(probe, "grpc", |grpc| fill(grpc, "service", ""));
}

fn http_get(action: &mut Value) {
    fill(action, "path", "/");
    fill(action, "scheme", "HTTP");
}

/// Returns whether an image has the tag `latest`, which is also that of a name without tag and
/// digest.
pub(super) fn is_latest(image: &str) -> bool {
    let (name, digest) = image.split_once('@').map_or((image, None), |(name, digest)| (name, Some(digest)));
    let last = name.rsplit('/').next().unwrap_or_default();
    match last.split_once(':') {
        Some((_, tag)) => tag == "latest",
        None => !last.is_empty() && digest.is_none(),
    }
}

/// Both fields of a pod's address name the same one.
fn addresses(status: &mut Value) {
    let one = status["podIP"].as_str().filter(|ip| !ip.is_empty()).map(str::to_owned);
    let first = status["podIPs"][0]["ip"].as_str().map(str::to_owned);
    match (one, first) {
        (Some(one), first) if first.as_ref() != Some(&one) => status["podIPs"] = json!([{"ip": one}]),
        (None, Some(first)) => status["podIP"] = first.into(),
        _ => {}
    }
}

/// The class of service that the requests and limits of a pod give.
fn quality(spec: &Value) -> &'static str {
    let all = || {
        let containers =
            CONTAINERS[..2].iter().flat_map(|field| spec[*field].as_array().into_iter().flatten());
        containers.map(|container| &container["resources"])
    };
    let counted = |resources: &Value, part: &str| {
        ["cpu", "memory"].map(|name| resources[part].get(name).filter(|amount| *amount != "0").cloned())
    };
    let is_empty = |resources: &Value| {
        ["requests", "limits"].iter().all(|part| counted(resources, part).iter().all(Option::is_none))
    };
    if all().all(is_empty) {
        return "BestEffort";
    }
    let is_guaranteed = |resources: &Value| {
        let (requests, limits) = (counted(resources, "requests"), counted(resources, "limits"));
        limits.iter().all(Option::is_some) && requests == limits
    };
    if all().all(is_guaranteed) { "Guaranteed" } else { "Burstable" }
}
