//! Columns of the kinds of volumes, networks, scheduling and certificates.

use serde_json::Value;

use super::workload::selector;
use super::{BuiltIn, Head, count, each, nothing_more, or, size};
use crate::builtin::quantity;
use crate::table::age::elapsed_seconds;
use crate::table::column::name_and_age;

/// How many hosts, ports or addresses are shown.
const SHOWN: usize = 3;

macro_rules! columns {
    ($name:ident, [$($head:expr),* $(,)?], $cells:expr) => {
        pub(super) static $name: BuiltIn =
            BuiltIn { heads: &[Head::NAME, $($head),*], cells: $cells, conditions: nothing_more };
    };
}

columns!(
    PERSISTENT_VOLUME,
    [
        Head::text("Capacity", "How much it can hold."),
        Head::text("Access Modes", "How it can be mounted."),
        Head::text("Reclaim Policy", "The fate of its data after its release."),
        Head::text("Status", "The phase."),
        Head::text("Claim", "The claim that it is bound to."),
        Head::text("StorageClass", "Its class."),
        Head::text("VolumeAttributesClass", "The class of its attributes."),
        Head::text("Reason", "The reason for its phase."),
        Head::AGE,
        Head::wide("VolumeMode", "As a file system or as a block device."),
    ],
    |volume, now| {
        let ((name, age), spec) = (name_and_age(volume, now), &volume["spec"]);
        let claim = match &spec["claimRef"] {
            Value::Object(claim) => {
                let text = |field: &str| claim.get(field).and_then(Value::as_str).unwrap_or_default();
                format!("{}/{}", text("namespace"), text("name"))
            }
            _ => String::new(),
        };
        vec![
            name,
            amount(&spec["capacity"]["storage"]).into(),
            modes(&spec["accessModes"]).into(),
            or(&spec["persistentVolumeReclaimPolicy"], ""),
            phase(volume),
            claim.into(),
            class(volume),
            or(&spec["volumeAttributesClassName"], "<unset>"),
            or(&volume["status"]["reason"], ""),
            age,
            or(&spec["volumeMode"], "<unset>"),
        ]
    }
);

columns!(
    PERSISTENT_VOLUME_CLAIM,
    [
        Head::text("Status", "The phase."),
        Head::text("Volume", "The volume that it is bound to."),
        Head::text("Capacity", "How much that can hold."),
        Head::text("Access Modes", "How it can be mounted."),
        Head::text("StorageClass", "Its class."),
        Head::text("VolumeAttributesClass", "The class of its attributes."),
        Head::AGE,
        Head::wide("VolumeMode", "As a file system or as a block device."),
    ],
    |claim, now| {
        let ((name, age), spec, status) = (name_and_age(claim, now), &claim["spec"], &claim["status"]);
        let bound = !spec["volumeName"].as_str().unwrap_or_default().is_empty();
        let (capacity, modes) = match bound {
            true => (amount(&status["capacity"]["storage"]), modes(&status["accessModes"])),
            false => Default::default(),
        };
        vec![
            name,
            phase(claim),
            or(&spec["volumeName"], ""),
            capacity.into(),
            modes.into(),
            class(claim),
            or(&spec["volumeAttributesClassName"], "<unset>"),
            age,
            or(&spec["volumeMode"], "<unset>"),
        ]
    }
);

columns!(
    STORAGE_CLASS,
    [
        Head::text("Provisioner", "The driver that makes its volumes."),
        Head::text("ReclaimPolicy", "The fate of their data after their release."),
        Head::text("VolumeBindingMode", "When a claim is bound."),
        Head::text("AllowVolumeExpansion", "Whether a volume can grow."),
        Head::AGE,
    ],
    |class, now| {
        let (name, age) = name_and_age(class, now);
        let annotation = &class["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"];
        let name = match (annotation.as_str(), name.as_str()) {
            (Some("true"), Some(name)) => format!("{name} (default)").into(),
            _ => name,
        };
        vec![
            name,
            or(&class["provisioner"], ""),
            or(&class["reclaimPolicy"], "Delete"),
            or(&class["volumeBindingMode"], "Immediate"),
            (class["allowVolumeExpansion"] == true).into(),
            age,
        ]
    }
);

columns!(
    ENDPOINTS,
    [Head::text("Endpoints", "The addresses with their ports."), Head::AGE],
    |endpoints, now| {
        let (name, age) = name_and_age(endpoints, now);
        vec![name, addresses(&endpoints["subsets"]).into(), age]
    }
);

columns!(
    ENDPOINT_SLICE,
    [
        Head::text("AddressType", "The type of the addresses."),
        Head::text("Ports", "The ports of all addresses."),
        Head::text("Endpoints", "The addresses."),
        Head::AGE,
    ],
    |slice, now| {
        let (name, age) = name_and_age(slice, now);
        let ports = each(&slice["ports"]).map(|port| match (port["port"].as_i64(), port["name"].as_str()) {
            (Some(number), _) => number.to_string(),
            (None, Some(name)) => name.to_owned(),
            (None, None) => "*".to_owned(),
        });
        let all = each(&slice["endpoints"]).flat_map(|endpoint| each(&endpoint["addresses"]));
        let all = all.filter_map(Value::as_str).map(str::to_owned);
        let shown = |list: Vec<String>| if list.is_empty() { "<unset>".to_owned() } else { some(list) };
        vec![
            name,
            or(&slice["addressType"], ""),
            shown(ports.collect()).into(),
            shown(all.collect()).into(),
            age,
        ]
    }
);

columns!(
    INGRESS,
    [
        Head::text("Class", "The class of its controller."),
        Head::text("Hosts", "The hosts of its rules."),
        Head::text("Address", "The address of its load balancer."),
        Head::text("Ports", "The ports that it listens on."),
        Head::AGE,
    ],
    |ingress, now| {
        let ((name, age), spec) = (name_and_age(ingress, now), &ingress["spec"]);
        let hosts = each(&spec["rules"]).filter_map(|rule| rule["host"].as_str());
        let hosts: Vec<String> = hosts.filter(|host| !host.is_empty()).map(str::to_owned).collect();
        let balancers = each(&ingress["status"]["loadBalancer"]["ingress"]);
        let named = balancers.filter_map(|one| {
            let text = |field: &str| one[field].as_str().filter(|text| !text.is_empty());
            text("ip").or(text("hostname"))
        });
        let named: std::collections::BTreeSet<&str> = named.collect();
        let named: Vec<&str> = named.into_iter().collect();
        vec![
            name,
            or(&spec["ingressClassName"], "<none>"),
            if hosts.is_empty() { "*".into() } else { some(hosts).into() },
            named.join(",").into(),
            if size(&spec["tls"]) > 0 { "80, 443" } else { "80" }.into(),
            age,
        ]
    }
);

columns!(
    NETWORK_POLICY,
    [Head::text("Pod-Selector", "The pods that it applies to."), Head::AGE],
    |policy, now| {
        let (name, age) = name_and_age(policy, now);
        let selected = selector(&policy["spec"]["podSelector"]);
        vec![name, if selected.is_empty() { "<none>".into() } else { selected.into() }, age]
    }
);

columns!(
    DISRUPTION_BUDGET,
    [
        Head::text("Min Available", "How many pods must stay."),
        Head::text("Max Unavailable", "How many pods may be missing."),
        Head::of("Allowed Disruptions", "integer", "How many pods may be evicted now."),
        Head::AGE,
    ],
    |budget, now| {
        let ((name, age), spec) = (name_and_age(budget, now), &budget["spec"]);
        let shown = |value: &Value| match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => "N/A".to_owned(),
        };
        let allowed = count(&budget["status"]["disruptionsAllowed"]);
        vec![
            name,
            shown(&spec["minAvailable"]).into(),
            shown(&spec["maxUnavailable"]).into(),
            allowed.into(),
            age,
        ]
    }
);

columns!(
    PRIORITY_CLASS,
    [
        Head::of("Value", "integer", "The priority of its pods."),
        Head::of("Global-Default", "boolean", "Whether it is that of pods without a class."),
        Head::AGE,
        Head::text("PreemptionPolicy", "Whether its pods displace others."),
    ],
    |class, now| {
        let (name, age) = name_and_age(class, now);
        let policy = or(&class["preemptionPolicy"], "");
        vec![name, count(&class["value"]).into(), (class["globalDefault"] == true).into(), age, policy]
    }
);

columns!(
    RUNTIME_CLASS,
    [Head::text("Handler", "The configuration of the container runtime."), Head::AGE],
    |class, now| {
        let (name, age) = name_and_age(class, now);
        vec![name, or(&class["handler"], ""), age]
    }
);

columns!(
    CSI_NODE,
    [Head::of("Drivers", "integer", "How many drivers the node has."), Head::AGE],
    |node, now| {
        let (name, age) = name_and_age(node, now);
        vec![name, size(&node["spec"]["drivers"]).into(), age]
    }
);

columns!(
    SIGNING_REQUEST,
    [
        Head::AGE,
        Head::text("SignerName", "The signer that it is for."),
        Head::text("Requestor", "The user who created it."),
        Head::text("RequestedDuration", "How long the certificate shall be valid."),
        Head::text("Condition", "Whether it is approved, and a certificate issued."),
    ],
    |request, now| {
        let ((name, age), spec) = (name_and_age(request, now), &request["spec"]);
        let duration =
            spec["expirationSeconds"].as_i64().map_or_else(|| "<none>".to_owned(), elapsed_seconds);
        let signer = or(&spec["signerName"], "<none>");
        vec![
            name,
            age,
            signer,
            or(&spec["username"], ""),
            duration.into(),
            decision(&request["status"]).into(),
        ]
    }
);

columns!(
    API_SERVICE,
    [
        Head::text("Service", "The service that serves the group version, or Local."),
        Head::text("Available", "Whether it is available."),
        Head::AGE,
    ],
    |service, now| {
        let (name, age) = name_and_age(service, now);
        let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
        let reference = &service["spec"]["service"];
        let of = match reference.is_null() {
            true => "Local".to_owned(),
            false => format!("{}/{}", text(reference, "namespace"), text(reference, "name")),
        };
        let condition = each(&service["status"]["conditions"]).find(|one| one["type"] == "Available");
        let available = match condition.map(|one| (text(one, "status"), text(one, "reason"))) {
            None => "Unknown".to_owned(),
            Some((status, reason)) if status == "True" || reason.is_empty() => status,
            Some((status, reason)) => format!("{status} ({reason})"),
        };
        vec![name, of.into(), available.into(), age]
    }
);

columns!(
    AUTOSCALER,
    [
        Head::text("Reference", "The object that it scales."),
        Head::text("Targets", "Current and wanted values of its metrics."),
        Head::text("MinPods", "The least number of pods."),
        Head::text("MaxPods", "The greatest number of pods."),
        Head::text("Replicas", "How many pods there are."),
        Head::AGE,
    ],
    |scaler, now| {
        let ((name, age), spec, status) = (name_and_age(scaler, now), &scaler["spec"], &scaler["status"]);
        let text = |field: &str| spec["scaleTargetRef"][field].as_str().unwrap_or_default();
        let least =
            spec["minReplicas"].as_i64().map_or_else(|| "<unset>".to_owned(), |least| least.to_string());
        vec![
            name,
            format!("{}/{}", text("kind"), text("name")).into(),
            targets(scaler).into(),
            least.into(),
            count(&spec["maxReplicas"]).into(),
            count(&status["currentReplicas"]).into(),
            age,
        ]
    }
);

/// `cpu: 20%/50%, 3/5 + 1 more...`, from either version of an autoscaler.
fn targets(scaler: &Value) -> String {
    const MOST: usize = 2;
    let mut all: Vec<String> = Vec::new();
    let current: Vec<&Value> = each(&scaler["status"]["currentMetrics"]).collect();
    for (at, metric) in each(&scaler["spec"]["metrics"]).enumerate() {
        all.push(target(metric, current.get(at).copied().unwrap_or(&Value::Null)));
    }
    if let Some(wanted) = scaler["spec"]["targetCPUUtilizationPercentage"].as_i64() {
        let used = scaler["status"]["currentCPUUtilizationPercentage"].as_i64();
        let used = used.map_or_else(|| "<unknown>".to_owned(), |used| format!("{used}%"));
        all.push(format!("cpu: {used}/{wanted}%"));
    }
    let more = all.len().saturating_sub(MOST);
    match all.as_slice() {
        [] => "<none>".to_owned(),
        all if more > 0 => format!("{} + {more} more...", all[..MOST].join(", ")),
        all => all.join(", "),
    }
}

fn target(metric: &Value, current: &Value) -> String {
    let source = match metric["type"].as_str() {
        Some("External") => "external",
        Some("Pods") => "pods",
        Some("Object") => "object",
        Some("Resource") => "resource",
        Some("ContainerResource") => "containerResource",
        _ => return "<unknown type>".to_owned(),
    };
    let (wanted, used) = (&metric[source]["target"], &current[source]["current"]);
    let text = |value: &Value| value.as_str().unwrap_or("<unknown>").to_owned();
    let percent =
        |value: &Value, none: &str| value.as_i64().map_or_else(|| none.to_owned(), |n| format!("{n}%"));
    let resource = metric[source]["name"].as_str().filter(|_| source.to_lowercase().ends_with("resource"));
    match (resource, wanted["averageValue"].as_str()) {
        (Some(name), Some(average)) => format!("{name}: {}/{average}", text(&used["averageValue"])),
        (Some(name), None) => format!(
            "{name}: {}/{}",
            percent(&used["averageUtilization"], "<unknown>"),
            percent(&wanted["averageUtilization"], "<auto>")
        ),
        (None, Some(average)) if source == "pods" => format!("{}/{average}", text(&used["averageValue"])),
        (None, Some(average)) => format!("{}/{average} (avg)", text(&used["averageValue"])),
        (None, None) => format!("{}/{}", text(&used["value"]), text(&wanted["value"])),
    }
}

/// `Approved,Issued`
fn decision(status: &Value) -> String {
    let has = |kind: &str| each(&status["conditions"]).any(|condition| condition["type"] == kind);
    let mut decision = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied".to_owned(),
        (false, true) => "Approved".to_owned(),
        (false, false) => "Pending".to_owned(),
    };
    if has("Failed") {
        decision.push_str(",Failed");
    }
    if !status["certificate"].as_str().unwrap_or_default().is_empty() {
        decision.push_str(",Issued");
    }
    decision
}

/// `10.1.2.3:80,10.1.2.4:80`
fn addresses(subsets: &Value) -> String {
    let mut all = Vec::new();
    for subset in each(subsets) {
        let ips = || each(&subset["addresses"]).filter_map(|address| address["ip"].as_str());
        if size(&subset["ports"]) == 0 {
            all.extend(ips().map(str::to_owned));
        }
        for port in each(&subset["ports"]) {
            let port = count(&port["port"]);
            let with_port =
                |ip: &str| if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") };
            all.extend(ips().map(with_port));
        }
    }
    if size(subsets) == 0 { "<none>".to_owned() } else { some(all) }
}

/// Joins the first items, and counts the others.
fn some(list: Vec<String>) -> String {
    let more = list.len().saturating_sub(SHOWN);
    let shown = list[..list.len() - more].join(",");
    if more > 0 { format!("{shown} + {more} more...") } else { shown }
}

fn amount(value: &Value) -> String {
    match value {
        Value::Null => "0".to_owned(),
        value => quantity::text(value).into_owned(),
    }
}

fn modes(modes: &Value) -> String {
    const NAMES: [(&str, &str); 4] = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let has = |mode: &str| each(modes).any(|one| one == mode);
    NAMES.iter().filter(|(mode, _)| has(mode)).map(|(_, short)| *short).collect::<Vec<_>>().join(",")
}

fn phase(object: &Value) -> Value {
    match object["metadata"]["deletionTimestamp"].is_string() {
        true => "Terminating".into(),
        false => or(&object["status"]["phase"], ""),
    }
}

/// The storage class, which once was an annotation.
fn class(object: &Value) -> Value {
    let annotation = &object["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"];
    if annotation.is_string() { annotation.clone() } else { or(&object["spec"]["storageClassName"], "") }
}
