//! Workloads: their strategies, histories and templates.

use serde_json::{Value, json};

use super::pod::template;
use super::{each, fill, inside, within};

pub(super) fn deployment(deployment: &mut Value) {
    inside(deployment, "spec", |spec| {
        fill(spec, "replicas", 1);
        within(spec, "strategy", |strategy| {
            fill(strategy, "type", "RollingUpdate");
            if strategy["type"] == "RollingUpdate" {
                within(strategy, "rollingUpdate", |update| {
                    fill(update, "maxUnavailable", "25%");
                    fill(update, "maxSurge", "25%");
                });
            }
        });
        fill(spec, "revisionHistoryLimit", 10);
        fill(spec, "progressDeadlineSeconds", 600);
        template(spec, "template");
    });
}

pub(super) fn replica_set(set: &mut Value) {
    inside(set, "spec", |spec| {
        fill(spec, "replicas", 1);
        template(spec, "template");
    });
}

pub(super) fn daemon_set(set: &mut Value) {
    inside(set, "spec", |spec| {
        within(spec, "updateStrategy", |strategy| {
            fill(strategy, "type", "RollingUpdate");
            if strategy["type"] == "RollingUpdate" {
                within(strategy, "rollingUpdate", |update| {
                    fill(update, "maxUnavailable", 1);
                    fill(update, "maxSurge", 0);
                });
            }
        });
        fill(spec, "revisionHistoryLimit", 10);
        template(spec, "template");
    });
}

pub(super) fn stateful_set(set: &mut Value) {
    inside(set, "spec", |spec| {
        fill(spec, "podManagementPolicy", "OrderedReady");
        within(spec, "updateStrategy", |strategy| {
            if strategy["type"].as_str().is_none_or(str::is_empty) {
                strategy["type"] = "RollingUpdate".into();
                fill(strategy, "rollingUpdate", json!({}));
            }
            if strategy["type"] == "RollingUpdate" {
                inside(strategy, "rollingUpdate", |update| {
                    fill(update, "partition", 0);
                    fill(update, "maxUnavailable", 1);
                });
            }
        });
        within(spec, "persistentVolumeClaimRetentionPolicy", |policy| {
            fill(policy, "whenDeleted", "Retain");
            fill(policy, "whenScaled", "Retain");
        });
        fill(spec, "replicas", 1);
        fill(spec, "revisionHistoryLimit", 10);
        template(spec, "template");
        each(spec, "volumeClaimTemplates", |claim| {
            fill(claim, "kind", "PersistentVolumeClaim");
            fill(claim, "apiVersion", "v1");
            within(claim, "spec", |spec| fill(spec, "volumeMode", "Filesystem"));
            within(claim, "status", |status| fill(status, "phase", "Pending"));
        });
    });
}

pub(super) fn job(job: &mut Value) {
    inside(job, "spec", of_job);
    let labels = job["spec"]["template"]["metadata"]["labels"].clone();
    labelled(job, &labels);
}

/// The selector of a new job, and the labels of its pods: its UID and its name.
pub(super) fn begin_job(job: &mut Value) {
    if job["spec"]["manualSelector"] == true {
        return;
    }
    let (uid, name) = (job["metadata"]["uid"].clone(), job["metadata"]["name"].clone());
    inside(job, "spec", |spec| {
        within(spec, "template", |template| {
            within(template, "metadata", |metadata| {
                within(metadata, "labels", |labels| {
                    for prefix in ["", "batch.kubernetes.io/"] {
                        fill(labels, &format!("{prefix}controller-uid"), uid.clone());
                        fill(labels, &format!("{prefix}job-name"), name.clone());
                    }
                });
            });
        });
        within(spec, "selector", |selector| {
            within(selector, "matchLabels", |labels| {
                fill(labels, "batch.kubernetes.io/controller-uid", uid.clone())
            });
        });
    });
}

pub(super) fn cron_job(job: &mut Value) {
    inside(job, "spec", |spec| {
        fill(spec, "concurrencyPolicy", "Allow");
        fill(spec, "suspend", false);
        fill(spec, "successfulJobsHistoryLimit", 3);
        fill(spec, "failedJobsHistoryLimit", 1);
        inside(spec, "jobTemplate", |job| inside(job, "spec", |spec| template(spec, "template")));
    });
}

pub(super) fn replication_controller(controller: &mut Value) {
    let labels = controller["spec"]["template"]["metadata"]["labels"].clone();
    inside(controller, "spec", |spec| {
        fill(spec, "replicas", 1);
        if labels.is_object() && spec["selector"].as_object().is_none_or(serde_json::Map::is_empty) {
            spec["selector"] = labels.clone();
        }
        template(spec, "template");
    });
    labelled(controller, &labels);
}

pub(super) fn pod_template(object: &mut Value) {
    template(object, "template");
}

fn of_job(spec: &mut Value) {
    if spec["completions"].is_null() && spec["parallelism"].is_null() {
        spec["completions"] = 1.into();
    }
    fill(spec, "parallelism", 1);
    let most = if spec["backoffLimitPerIndex"].is_null() { 6 } else { i32::MAX };
    fill(spec, "backoffLimit", most);
    fill(spec, "completionMode", "NonIndexed");
    fill(spec, "suspend", false);
    let replaced = if spec["podFailurePolicy"].is_null() { "TerminatingOrFailed" } else { "Failed" };
    fill(spec, "podReplacementPolicy", replaced);
    fill(spec, "manualSelector", false);
    inside(spec, "podFailurePolicy", |policy| {
        each(policy, "rules", |rule| {
            each(rule, "onPodConditions", |pattern| fill(pattern, "status", "True"))
        });
    });
    template(spec, "template");
}

/// An object without labels gets those of its template.
fn labelled(object: &mut Value, labels: &Value) {
    let has_labels = object["metadata"]["labels"].as_object().is_some_and(|labels| !labels.is_empty());
    if labels.as_object().is_some_and(|labels| !labels.is_empty()) && !has_labels {
        within(object, "metadata", |metadata| metadata["labels"] = labels.clone());
    }
}
