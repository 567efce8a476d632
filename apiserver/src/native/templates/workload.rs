//! Validation of workloads: a template, its selector, and fields that cannot change.

use serde_json::Value;

use super::spec::spec;
use super::{invalid, items, required, text, unsupported};
use crate::auth::rbac::selector as label_selector;
use crate::invalid::{FieldError, Problem};

const IMMUTABLE: &str = "field is immutable";

/// A stored pod is not validated again: its spec hardly changes.
pub(super) fn pod(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    if old.is_some() { Vec::new() } else { spec(&new["spec"], "spec") }
}

pub(super) fn pod_template(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    changed(new, old, "/template")
        .map(|template| spec(&template["spec"], "template.spec"))
        .unwrap_or_default()
}

pub(super) fn replication_controller(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let selector = &new["spec"]["selector"];
    let mut errors = Vec::new();
    if selector.as_object().is_none_or(serde_json::Map::is_empty) {
        errors.push(required("spec.selector".into()));
    }
    let labels = &new["spec"]["template"]["metadata"]["labels"];
    let is_in = |(key, value): (&String, &Value)| labels.get(key) == Some(value);
    if !selector.as_object().into_iter().flatten().all(is_in) {
        errors.push(mismatch(labels));
    }
    errors.extend(replicas(&new["spec"]));
    errors.extend(template(new, old, "Always"));
    errors
}

/// A Deployment, ReplicaSet, DaemonSet or StatefulSet.
pub(super) fn selecting(new: &Value, old: Option<&Value>, workload: &str) -> Vec<FieldError> {
    let selector = &new["spec"]["selector"];
    let mut errors = Vec::new();
    match old {
        Some(old) if old["spec"]["selector"] != *selector => {
            errors.push(invalid("spec.selector".into(), selector, IMMUTABLE));
        }
        // An unchanged selector was accepted.
        Some(_) => {}
        None => errors.extend(selector_errors(new, workload)),
    }
    errors.extend(replicas(&new["spec"]));
    errors.extend(template(new, old, "Always"));
    errors
}

pub(super) fn job(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = counts(&new["spec"], "spec");
    match old {
        Some(old) => {
            for field in ["selector", "completionMode"] {
                let (new, old) = (&new["spec"][field], &old["spec"][field]);
                if new != old {
                    errors.push(invalid(format!("spec.{field}"), new, IMMUTABLE));
                }
            }
        }
        None => errors.extend(job_template(&new["spec"]["template"], "spec.template")),
    }
    errors
}

pub(super) fn cron_job(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if text(&new["spec"]["schedule"]).is_empty() {
        errors.push(required("spec.schedule".into()));
    }
    let policies = ["Allow", "Forbid", "Replace"];
    errors.extend(unsupported("spec.concurrencyPolicy".into(), &new["spec"]["concurrencyPolicy"], &policies));
    if let Some(job) = changed(new, old, "/spec/jobTemplate/spec") {
        errors.extend(counts(job, "spec.jobTemplate.spec"));
        errors.extend(job_template(&job["template"], "spec.jobTemplate.spec.template"));
    }
    errors
}

/// Pods of a job end, so their policy says so.
fn job_template(template: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = spec(&template["spec"], &format!("{at}.spec"));
    let field = format!("{at}.spec.restartPolicy");
    if text(&template["spec"]["restartPolicy"]) == "Always" {
        let detail = r#"valid values: "OnFailure", "Never""#;
        errors.push(FieldError::new(field, Problem::Required, detail));
    }
    errors
}

fn counts(spec: &Value, at: &str) -> Vec<FieldError> {
    let fields =
        ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"];
    let is_negative = |field: &&str| spec[*field].as_i64().is_some_and(|number| number < 0);
    let error =
        |field: &str| invalid(format!("{at}.{field}"), &spec[field], "must be greater than or equal to 0");
    fields.into_iter().filter(is_negative).map(error).collect()
}

fn replicas(spec: &Value) -> Option<FieldError> {
    let is_negative = spec["replicas"].as_i64().is_some_and(|replicas| replicas < 0);
    let detail = "must be greater than or equal to 0";
    is_negative.then(|| invalid("spec.replicas".into(), &spec["replicas"], detail))
}

fn selector_errors(new: &Value, workload: &str) -> Vec<FieldError> {
    let (selector, labels) = (&new["spec"]["selector"], &new["spec"]["template"]["metadata"]["labels"]);
    if selector.is_null() {
        return vec![required("spec.selector".into())];
    }
    let has = |field: &str| {
        selector[field].as_object().is_some_and(|labels| !labels.is_empty())
            || items(&selector[field]).count() > 0
    };
    if !has("matchLabels") && !has("matchExpressions") {
        return vec![invalid(
            "spec.selector".into(),
            selector,
            format!("empty selector is invalid for {workload}"),
        )];
    }
    let label = |key: &str| labels.get(key).and_then(Value::as_str);
    let matches = label_selector(selector).is_some_and(|selector| selector.matches_by(label));
    if matches { Vec::new() } else { vec![mismatch(labels)] }
}

fn mismatch(labels: &Value) -> FieldError {
    let detail = "`selector` does not match template `labels`";
    match labels.is_null() {
        true => FieldError::new("spec.template.metadata.labels", Problem::InvalidAs("null".into()), detail),
        false => invalid("spec.template.metadata.labels".into(), labels, detail),
    }
}

fn template(new: &Value, old: Option<&Value>, restart: &str) -> Vec<FieldError> {
    if new["spec"]["template"].is_null() {
        return vec![required("spec.template".into())];
    }
    let Some(template) = changed(new, old, "/spec/template") else { return Vec::new() };
    let mut errors = spec(&template["spec"], "spec.template.spec");
    errors.extend(unsupported(
        "spec.template.spec.restartPolicy".into(),
        &template["spec"]["restartPolicy"],
        &[restart],
    ));
    errors
}

/// Returns a part that is new or changed: validation may have become stricter, and stored objects
/// must remain editable.
fn changed<'a>(new: &'a Value, old: Option<&Value>, at: &str) -> Option<&'a Value> {
    let part = new.pointer(at).unwrap_or(&Value::Null);
    old.is_none_or(|old| old.pointer(at).unwrap_or(&Value::Null) != part).then_some(part)
}
