//! The columns of the built-in kinds.

mod autoscaler;
mod batch;
mod core;
mod event;
mod network;
mod pod;
mod quota;
mod rbac;
mod records;
mod storage;
mod workload;

use jiff::Timestamp;
use serde_json::Value;

use super::column::{CREATED, Columns, NAME, definition, text};

/// The columns of a kind that is built in.
#[derive(Debug)]
pub(crate) struct BuiltIn {
    heads: &'static [Head],
    pub(super) cells: fn(&Value, Timestamp) -> Vec<Value>,
    pub(super) conditions: fn(&Value) -> Option<Value>,
}

/// The columns of a built-in kind. A kind without columns of its own has a name and the time when
/// it was created.
pub(crate) fn builtin(group: &str, kind: &str) -> Columns {
    Columns::BuiltIn(match (group, kind) {
        ("", "ConfigMap") => &core::CONFIG_MAP,
        ("", "Endpoints") => &network::ENDPOINTS,
        ("", "PersistentVolume") => &storage::PERSISTENT_VOLUME,
        ("", "PersistentVolumeClaim") => &storage::PERSISTENT_VOLUME_CLAIM,
        ("", "PodTemplate") => &workload::POD_TEMPLATE,
        ("", "ReplicationController") => &workload::REPLICATION_CONTROLLER,
        ("apiregistration.k8s.io", "APIService") => &records::API_SERVICE,
        ("apps", "DaemonSet") => &workload::DAEMON_SET,
        ("apps", "StatefulSet") => &workload::STATEFUL_SET,
        ("autoscaling", "HorizontalPodAutoscaler") => &autoscaler::AUTOSCALER,
        ("batch", "CronJob") => &batch::CRON_JOB,
        ("batch", "Job") => &batch::JOB,
        ("certificates.k8s.io", "CertificateSigningRequest") => &records::SIGNING_REQUEST,
        ("discovery.k8s.io", "EndpointSlice") => &network::ENDPOINT_SLICE,
        ("networking.k8s.io", "Ingress") => &network::INGRESS,
        ("networking.k8s.io", "NetworkPolicy") => &network::NETWORK_POLICY,
        ("node.k8s.io", "RuntimeClass") => &records::RUNTIME_CLASS,
        ("policy", "PodDisruptionBudget") => &records::DISRUPTION_BUDGET,
        ("scheduling.k8s.io", "PriorityClass") => &records::PRIORITY_CLASS,
        ("storage.k8s.io", "CSINode") => &storage::CSI_NODE,
        ("storage.k8s.io", "StorageClass") => &storage::STORAGE_CLASS,
        ("", "Event") | ("events.k8s.io", "Event") => &event::EVENT,
        ("", "Namespace") => &core::NAMESPACE,
        ("", "Node") => &core::NODE,
        ("", "Pod") => &pod::POD,
        ("", "ResourceQuota") => &quota::RESOURCE_QUOTA,
        ("", "Secret") => &core::SECRET,
        ("", "Service") => &core::SERVICE,
        ("", "ServiceAccount") => &core::SERVICE_ACCOUNT,
        ("admissionregistration.k8s.io", _) => &core::WEBHOOKS,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => &core::CRD,
        ("apps", "Deployment") => &workload::DEPLOYMENT,
        ("apps", "ReplicaSet") => &workload::REPLICA_SET,
        ("autoscaling", "Scale") => &workload::SCALE,
        ("coordination.k8s.io", "Lease") => &core::LEASE,
        ("rbac.authorization.k8s.io", "ClusterRoleBinding" | "RoleBinding") => &rbac::BINDING,
        _ => &DEFAULT,
    })
}

impl BuiltIn {
    pub(super) fn definitions(&self) -> Value {
        self.heads
            .iter()
            .map(|head| definition(head.name, head.kind, head.format, head.description, head.priority))
            .collect()
    }
}

#[derive(Debug)]
struct Head {
    name: &'static str,
    kind: &'static str,
    format: &'static str,
    priority: i64,
    description: &'static str,
}

impl Head {
    const NAME: Self = Self { name: "Name", kind: "string", format: "name", priority: 0, description: NAME };
    const AGE: Self = Self::text("Age", CREATED);
    const CREATED: Self = Self::of("Created At", "date", CREATED);

    const fn of(name: &'static str, kind: &'static str, description: &'static str) -> Self {
        Self { name, kind, format: "", priority: 0, description }
    }

    const fn text(name: &'static str, description: &'static str) -> Self {
        Self::of(name, "string", description)
    }

    /// Shown with `-o wide` only.
    const fn wide(name: &'static str, description: &'static str) -> Self {
        Self { priority: 1, ..Self::text(name, description) }
    }
}

static DEFAULT: BuiltIn = BuiltIn {
    heads: &[Head::NAME, Head::CREATED],
    cells: |object, _| vec![text(&object["metadata"]["name"]), created(object)],
    conditions: nothing_more,
};

fn nothing_more(_: &Value) -> Option<Value> {
    None
}

/// When the object was created, as it is written.
fn created(object: &Value) -> Value {
    object["metadata"]["creationTimestamp"].as_str().unwrap_or(super::age::ZERO).into()
}

/// Returns the text, or a placeholder.
fn or(value: &Value, none: &str) -> Value {
    value.as_str().filter(|text| !text.is_empty()).unwrap_or(none).into()
}

/// Returns an integer, or 0 for any other value.
fn count(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0)
}

/// The items of a list; none if it is no list.
fn each(value: &Value) -> impl DoubleEndedIterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Returns the number of items or fields; 0 for a scalar.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(list) => list.len(),
        Value::Object(map) => map.len(),
        _ => 0,
    }
}

/// Joins the strings of the values with a separator, and skips other values.
fn joined<'a>(values: impl IntoIterator<Item = &'a Value>, between: &str) -> String {
    values.into_iter().filter_map(Value::as_str).collect::<Vec<_>>().join(between)
}

/// `app=web,tier=front`; `<none>` for none.
fn pairs(labels: &Value) -> String {
    let pairs: Vec<String> = labels
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    if pairs.is_empty() { "<none>".into() } else { pairs.join(",") }
}

#[cfg(test)]
mod tests;
