use serde_json::{Value, json};

use super::of;
use crate::kind::KindHooks as _;
use crate::native::defaults;

/// Returns the errors of a new object with its default values.
#[track_caller]
fn check(group: &str, kind: &str, mut object: Value, expected: &[&str]) {
    defaults::of(group, kind).unwrap().default(&mut object);
    let errors = of(group, kind).unwrap()(&object, None);
    assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
}

fn deployment(template: Value) -> Value {
    json!({"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}})
}

#[test]
fn a_template_needs_named_containers_with_images() {
    let labels = json!({"labels": {"a": "b"}});
    let of = |containers: Value| deployment(json!({"metadata": labels, "spec": {"containers": containers}}));
    check("apps", "Deployment", of(json!([{"name": "c", "image": "i"}])), &[]);
    check("apps", "Deployment", of(json!([])), &["spec.template.spec.containers: Required value"]);
    let twice = json!([{"name": "c", "image": "i"}, {"name": "c"}]);
    check(
        "apps",
        "Deployment",
        of(twice),
        &[
            "spec.template.spec.containers[1].image: Required value",
            "spec.template.spec.containers[1].name: Duplicate value: \"c\"",
        ],
    );
    let odd = json!([{"name": "c", "image": "i", "imagePullPolicy": "Often", "ports": [{"containerPort": 70_000}],
        "volumeMounts": [{"name": "v"}]}]);
    check(
        "apps",
        "Deployment",
        of(odd),
        &[
            "spec.template.spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
            "spec.template.spec.containers[0].volumeMounts[0].name: Not found: \"v\"",
            "spec.template.spec.containers[0].volumeMounts[0].mountPath: Required value",
            "spec.template.spec.containers[0].imagePullPolicy: Unsupported value: \"Often\": supported values: \"Always\", \"IfNotPresent\", \"Never\"",
        ],
    );
}

#[test]
fn a_selector_matches_the_template_and_stays() {
    let spec = json!({"containers": [{"name": "c", "image": "i"}]});
    let other = deployment(json!({"metadata": {"labels": {"a": "c"}}, "spec": spec}));
    check(
        "apps",
        "StatefulSet",
        other.clone(),
        &[
            "spec.template.metadata.labels: Invalid value: {\"a\":\"c\"}: `selector` does not match template `labels`",
        ],
    );
    check(
        "apps",
        "DaemonSet",
        json!({"spec": {"template": {"spec": spec}}}),
        &["spec.selector: Required value"],
    );
    check(
        "apps",
        "ReplicaSet",
        json!({"spec": {"selector": {}, "template": {"spec": spec}}}),
        &["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
    );
    let mut new = other.clone();
    new["spec"]["selector"]["matchLabels"]["a"] = "d".into();
    let errors = of("apps", "Deployment").unwrap()(&new, Some(&other));
    assert_eq!(
        errors[0].to_string(),
        "spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"d\"}}: field is immutable"
    );
    // An unchanged template is not validated again.
    assert!(of("apps", "Deployment").unwrap()(&other, Some(&other)).is_empty());
}

#[test]
fn pods_of_a_job_end() {
    let spec = json!({"containers": [{"name": "c", "image": "i"}]});
    check(
        "batch",
        "Job",
        json!({"spec": {"template": {"spec": spec}}}),
        &["spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""],
    );
    let never = json!({"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]});
    check("batch", "Job", json!({"spec": {"template": {"spec": never}}}), &[]);
    check(
        "batch",
        "CronJob",
        json!({"spec": {"jobTemplate": {"spec": {"template": {"spec": never}}}}}),
        &["spec.schedule: Required value"],
    );
    check(
        "",
        "Pod",
        json!({"spec": {"restartPolicy": "Sometimes", "containers": [{"name": "C", "image": "i"}]}}),
        &[
            "spec.containers[0].name: Invalid value: \"C\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or \u{27}-\u{27}, and must start and end with an alphanumeric character (e.g. \u{27}my-name\u{27},  or \u{27}123-abc\u{27}, regex used for validation is \u{27}[a-z0-9]([-a-z0-9]*[a-z0-9])?\u{27})",
            "spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \"Never\", \"OnFailure\"",
        ],
    );
}
