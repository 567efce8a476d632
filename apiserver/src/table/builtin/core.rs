//! Columns of the core kinds, of Leases, and of CustomResourceDefinitions.

use jiff::Timestamp;
use serde_json::Value;

use super::{BuiltIn, Head, count, created, each, joined, nothing_more, or, pairs, size};
use crate::table::column::{name_and_age, text};

pub(super) static NAMESPACE: BuiltIn = BuiltIn {
    heads: &[Head::NAME, Head::text("Status", "The phase that the namespace is in."), Head::AGE],
    cells: |namespace, now| {
        let (name, age) = name_and_age(namespace, now);
        vec![name, text(&namespace["status"]["phase"]), age]
    },
    conditions: nothing_more,
};

pub(super) static CONFIG_MAP: BuiltIn = BuiltIn {
    heads: &[Head::NAME, Head::text("Data", "How many entries there are, of text and of bytes."), Head::AGE],
    cells: |map, now| {
        let (name, age) = name_and_age(map, now);
        vec![name, (size(&map["data"]) + size(&map["binaryData"])).into(), age]
    },
    conditions: nothing_more,
};

pub(super) static SECRET: BuiltIn = BuiltIn {
    heads: &[
        Head::NAME,
        Head::text("Type", "What the secret is for."),
        Head::text("Data", "How many entries there are."),
        Head::AGE,
    ],
    cells: |secret, now| {
        let (name, age) = name_and_age(secret, now);
        vec![name, text(&secret["type"]), size(&secret["data"]).into(), age]
    },
    conditions: nothing_more,
};

pub(super) static SERVICE_ACCOUNT: BuiltIn = BuiltIn {
    heads: &[Head::NAME, Head::text("Secrets", "How many secrets its pods may use."), Head::AGE],
    cells: |account, now| {
        let (name, age) = name_and_age(account, now);
        vec![name, size(&account["secrets"]).into(), age]
    },
    conditions: nothing_more,
};

pub(super) static WEBHOOKS: BuiltIn = BuiltIn {
    heads: &[Head::NAME, Head::of("Webhooks", "integer", "How many webhooks there are in it."), Head::AGE],
    cells: |configuration, now| {
        let (name, age) = name_and_age(configuration, now);
        vec![name, size(&configuration["webhooks"]).into(), age]
    },
    conditions: nothing_more,
};

pub(super) static LEASE: BuiltIn = BuiltIn {
    heads: &[Head::NAME, Head::text("Holder", "Who holds the lease."), Head::AGE],
    cells: |lease, now| {
        let (name, age) = name_and_age(lease, now);
        vec![name, text(&lease["spec"]["holderIdentity"]), age]
    },
    conditions: nothing_more,
};

pub(super) static SERVICE: BuiltIn = BuiltIn {
    heads: &[
        Head::NAME,
        Head::text("Type", "How the service is exposed."),
        Head::text("Cluster-IP", "The address inside the cluster."),
        Head::text("External-IP", "The addresses that it is reached at from outside."),
        Head::text("Port(s)", "The ports, with the port on each node where there is one."),
        Head::AGE,
        Head::wide("Selector", "The labels of the pods that serve it."),
    ],
    cells: service,
    conditions: nothing_more,
};

fn service(service: &Value, now: Timestamp) -> Vec<Value> {
    let (name, age) = name_and_age(service, now);
    let spec = &service["spec"];
    let address = spec["clusterIPs"].get(0).unwrap_or(&spec["clusterIP"]);
    let ports: Vec<String> = each(&spec["ports"])
        .map(|port| {
            let protocol = port["protocol"].as_str().unwrap_or("TCP");
            match (count(&port["port"]), count(&port["nodePort"])) {
                (number, 1..) => format!("{number}:{}/{protocol}", count(&port["nodePort"])),
                (number, _) => format!("{number}/{protocol}"),
            }
        })
        .collect();
    let ports = if ports.is_empty() { "<none>".into() } else { ports.join(",") };
    let selector = pairs(&spec["selector"]);
    vec![
        name,
        text(&spec["type"]),
        or(address, "<none>"),
        outside(service).into(),
        ports.into(),
        age,
        selector.into(),
    ]
}

fn outside(service: &Value) -> String {
    let given = joined(each(&service["spec"]["externalIPs"]), ",");
    match service["spec"]["type"].as_str().unwrap_or_default() {
        "ClusterIP" | "NodePort" if given.is_empty() => "<none>".into(),
        "ClusterIP" | "NodePort" => given,
        "LoadBalancer" => {
            let ingress = each(&service["status"]["loadBalancer"]["ingress"]);
            let mut places: Vec<&str> = ingress
                .filter_map(|point| [&point["ip"], &point["hostname"]].into_iter().find_map(|at| at.as_str()))
                .collect();
            places.sort_unstable();
            places.dedup();
            places.extend(each(&service["spec"]["externalIPs"]).filter_map(Value::as_str));
            if places.is_empty() { "<pending>".into() } else { places.join(",") }
        }
        "ExternalName" => service["spec"]["externalName"].as_str().unwrap_or_default().into(),
        _ => "<unknown>".into(),
    }
}

pub(super) static NODE: BuiltIn = BuiltIn {
    heads: &[
        Head::NAME,
        Head::text("Status", "Whether the node is ready, and whether pods are scheduled to it."),
        Head::text("Roles", "The roles of the node, by its labels."),
        Head::AGE,
        Head::text("Version", "The version of the node's agent."),
        Head::wide("Internal-IP", "The first address inside the cluster."),
        Head::wide("External-IP", "The first address outside the cluster."),
        Head::wide("OS-Image", "The operating system."),
        Head::wide("Kernel-Version", "The version of the kernel."),
        Head::wide("Container-Runtime", "What runs the containers, and its version."),
    ],
    cells: node,
    conditions: nothing_more,
};

fn node(node: &Value, now: Timestamp) -> Vec<Value> {
    let (name, age) = name_and_age(node, now);
    let ready = each(&node["status"]["conditions"]).rfind(|condition| condition["type"] == "Ready");
    let mut status = String::from(match ready {
        Some(condition) if condition["status"] == "True" => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    });
    if node["spec"]["unschedulable"] == true {
        status.push_str(",SchedulingDisabled");
    }
    let address = |kind: &str| {
        let found = each(&node["status"]["addresses"]).find(|address| address["type"] == kind);
        or(found.map_or(&Value::Null, |address| &address["address"]), "<none>")
    };
    let info = &node["status"]["nodeInfo"];
    vec![
        name,
        status.into(),
        roles(node).into(),
        age,
        text(&info["kubeletVersion"]),
        address("InternalIP"),
        address("ExternalIP"),
        or(&info["osImage"], "<unknown>"),
        or(&info["kernelVersion"], "<unknown>"),
        or(&info["containerRuntimeVersion"], "<unknown>"),
    ]
}

fn roles(node: &Value) -> String {
    let labels = node["metadata"]["labels"].as_object().into_iter().flatten();
    let mut roles: Vec<&str> = labels
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => Some(role),
            None if key == "kubernetes.io/role" => value.as_str(),
            None => None,
        })
        .filter(|role| !role.is_empty())
        .collect();
    roles.sort_unstable();
    roles.dedup();
    if roles.is_empty() { "<none>".into() } else { roles.join(",") }
}

pub(super) static CRD: BuiltIn = BuiltIn {
    heads: &[
        Head::NAME,
        Head::text("Scope", "Cluster or Namespaced."),
        Head::text("Versions", "The versions that are served."),
        Head::CREATED,
        Head::wide("Group", "The group of the API."),
        Head::wide("Kind", "The kind of the objects."),
        Head::wide("ShortNames", "Other names for the command line."),
        Head { kind: "boolean", ..Head::wide("Established", "Whether the kind is served.") },
    ],
    cells: crd,
    conditions: nothing_more,
};

fn crd(crd: &Value, _: Timestamp) -> Vec<Value> {
    let spec = &crd["spec"];
    let mut versions: Vec<String> = each(&spec["versions"])
        .filter(|version| version["served"] == true)
        .map(|version| {
            let stored = if version["storage"] == true { "(storage)" } else { "" };
            format!("{}{stored}", version["name"].as_str().unwrap_or_default())
        })
        .collect();
    versions.sort_unstable();
    let established = |condition: &Value| condition["type"] == "Established" && condition["status"] == "True";
    vec![
        text(&crd["metadata"]["name"]),
        text(&spec["scope"]),
        versions.join(",").into(),
        created(crd),
        text(&spec["group"]),
        text(&spec["names"]["kind"]),
        joined(each(&spec["names"]["shortNames"]), ",").into(),
        each(&crd["status"]["conditions"]).any(established).into(),
    ]
}
