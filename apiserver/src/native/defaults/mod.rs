//! Default values of built-in kinds, as Kubernetes' own functions set them.

mod pod;
mod records;
mod volume;
mod workload;

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::templates::{self, ValidateTemplate};
use crate::invalid::FieldError;
use crate::kind::{DefaultHooks, KindHooks, Subresource};

/// Sets default values and the status of a new object, and validates templates.
pub(super) struct Defaulted {
    default: fn(&mut Value),
    creating: fn(&mut Value),
    validate: Option<ValidateTemplate>,
    /// Further hooks of the kind.
    others: Arc<dyn KindHooks>,
}

impl Defaulted {
    /// Adds the hooks that the kind has besides.
    pub(super) fn beside(self, others: Arc<dyn KindHooks>) -> Self {
        Self { others, ..self }
    }
}

impl KindHooks for Defaulted {
    fn default(&self, object: &mut Value) {
        (self.default)(object);
        self.others.default(object);
    }

    fn creating(&self, new: &mut Value) {
        (self.creating)(new);
        self.others.creating(new);
    }

    fn updating(&self, new: &mut Value, old: &Value, subresource: Subresource) {
        self.others.updating(new, old, subresource);
    }

    fn validate(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = self.validate.map(|validate| validate(new, old)).unwrap_or_default();
        errors.extend(self.others.validate(new, old));
        errors
    }
}

/// The hooks of a kind that has default values only. `None`: it has none.
pub(super) fn of(group: &str, kind: &str) -> Option<Defaulted> {
    let default: fn(&mut Value) = match (group, kind) {
        ("", "Pod") => pod::pod,
        ("", "PersistentVolume") => records::persistent_volume,
        ("", "PersistentVolumeClaim") => records::persistent_volume_claim,
        ("", "Node") => records::node,
        ("", "Service") => records::service,
        ("", "Endpoints") => records::endpoints,
        ("", "LimitRange") => records::limit_range,
        ("", "PodTemplate") => workload::pod_template,
        ("", "ReplicationController") => workload::replication_controller,
        ("apps", "Deployment") => workload::deployment,
        ("apps", "ReplicaSet") => workload::replica_set,
        ("apps", "DaemonSet") => workload::daemon_set,
        ("apps", "StatefulSet") => workload::stateful_set,
        ("batch", "Job") => workload::job,
        ("batch", "CronJob") => workload::cron_job,
        ("discovery.k8s.io", "EndpointSlice") => records::endpoint_slice,
        ("networking.k8s.io", "NetworkPolicy") => records::network_policy,
        ("scheduling.k8s.io", "PriorityClass") => records::priority_class,
        ("storage.k8s.io", "StorageClass") => records::storage_class,
        _ => return None,
    };
    let creating: fn(&mut Value) = match (group, kind) {
        ("", "Pod") => pod::begin,
        ("", "PersistentVolume" | "PersistentVolumeClaim") => records::begin,
        ("batch", "Job") => workload::begin_job,
        _ => nothing,
    };
    Some(Defaulted {
        default,
        creating,
        validate: templates::of(group, kind),
        others: Arc::new(DefaultHooks),
    })
}

fn nothing(_: &mut Value) {}

/// Sets a field that is missing, null or empty.
fn fill(object: &mut Value, field: &str, value: impl Into<Value>) {
    let Some(object) = object.as_object_mut() else { return };
    if object.get(field).is_none_or(|there| there.is_null() || there == "") {
        object.insert(field.to_owned(), value.into());
    }
}

/// Sets a field that is missing, null or zero: Go cannot distinguish these.
fn fill_zero(object: &mut Value, field: &str, value: i64) {
    if object[field] == 0 {
        object[field] = Value::Null;
    }
    fill(object, field, value);
}

/// Changes a field that is an object.
fn inside(object: &mut Value, field: &str, change: impl FnOnce(&mut Value)) {
    if let Some(inner) = object.get_mut(field).filter(|inner| inner.is_object()) {
        change(inner);
    }
}

/// Changes a field that is an object, and creates it if it is missing.
fn within(object: &mut Value, field: &str, change: impl FnOnce(&mut Value)) {
    if object.is_object() {
        fill(object, field, json!({}));
        inside(object, field, change);
    }
}

/// Changes each object of a list.
fn each(object: &mut Value, field: &str, change: impl FnMut(&mut Value)) {
    let items = object.get_mut(field).and_then(Value::as_array_mut);
    items.into_iter().flatten().filter(|item| item.is_object()).for_each(change);
}

/// Copies the missing entries of a map.
fn complete(into: &mut Value, from: &Value) {
    let Some(from) = from.as_object() else { return };
    if into.is_null() {
        *into = Value::Object(Map::new());
    }
    let Some(into) = into.as_object_mut() else { return };
    for (key, value) in from {
        into.entry(key.clone()).or_insert_with(|| value.clone());
    }
}

#[cfg(test)]
mod tests;
