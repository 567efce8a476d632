//! Validation of pods and of the workloads that have templates of pods.

mod container;
mod spec;
mod workload;

use serde_json::Value;

use crate::invalid::{FieldError, Problem};

/// Validates an object, as a new one or as an update.
pub(super) type ValidateTemplate = fn(&Value, Option<&Value>) -> Vec<FieldError>;

/// Returns the validation of a kind, if it has one.
pub(super) fn of(group: &str, kind: &str) -> Option<ValidateTemplate> {
    let validation: ValidateTemplate = match (group, kind) {
        ("", "Pod") => workload::pod,
        ("", "PodTemplate") => workload::pod_template,
        ("", "ReplicationController") => workload::replication_controller,
        ("apps", "Deployment" | "ReplicaSet") => |new, old| workload::selecting(new, old, "deployment"),
        ("apps", "DaemonSet") => |new, old| workload::selecting(new, old, "daemonset"),
        ("apps", "StatefulSet") => |new, old| workload::selecting(new, old, "statefulset"),
        ("batch", "Job") => workload::job,
        ("batch", "CronJob") => workload::cron_job,
        _ => return None,
    };
    Some(validation)
}

fn required(field: String) -> FieldError {
    FieldError::new(field, Problem::Required, "")
}

fn invalid(field: String, value: &Value, detail: impl Into<String>) -> FieldError {
    FieldError::new(field, Problem::Invalid(value.clone()), detail)
}

/// Returns the error of a value that is none of these.
fn unsupported(field: String, value: &Value, supported: &[&str]) -> Option<FieldError> {
    let text = value.as_str().unwrap_or_default();
    let listed: Vec<String> = supported.iter().map(|one| format!("{one:?}")).collect();
    let detail = format!("supported values: {}", listed.join(", "));
    (!supported.contains(&text)).then(|| FieldError::new(field, Problem::NotSupported(text.into()), detail))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn items(value: &Value) -> impl Iterator<Item = (usize, &Value)> {
    value.as_array().into_iter().flatten().enumerate()
}

#[cfg(test)]
mod tests;
