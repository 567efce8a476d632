use serde_json::json;

use super::super::{MeasuredKind, ObjectUsage};
use super::*;

fn usage(pod: &Value) -> ObjectUsage {
    ObjectUsage::of(MeasuredKind::Pod, pod)
}

#[track_caller]
fn check(pod: Value, expected: &[(&str, &str)]) {
    let usage = usage(&pod);
    for (key, amount) in expected {
        assert_eq!(usage.amount(key).text(), *amount, "{key}");
        assert!(is_key(key), "{key}");
    }
}

fn container(name: &str, requests: Value, limits: Value) -> Value {
    json!({"name": name, "resources": {"requests": requests, "limits": limits}})
}

#[test]
fn requests_and_limits_of_containers_are_added() {
    let requests =
        json!({"cpu": "500m", "memory": "252Mi", "ephemeral-storage": "30Gi", "example.com/dongle": "2"});
    let a = container("a", requests, json!({"example.com/dongle": "2"}));
    let b = container("b", json!({"cpu": "250m", "hugepages-2Mi": "4Mi"}), json!({"cpu": "1"}));
    check(
        json!({"spec": {"containers": [a, b]}}),
        &[
            ("pods", "1"),
            ("cpu", "750m"),
            ("requests.cpu", "750m"),
            ("limits.cpu", "1"),
            ("memory", "252Mi"),
            ("requests.memory", "252Mi"),
            ("limits.memory", "0"),
            ("ephemeral-storage", "30Gi"),
            ("requests.ephemeral-storage", "30Gi"),
            ("requests.example.com/dongle", "2"),
            ("hugepages-2Mi", "4Mi"),
            ("requests.hugepages-2Mi", "4Mi"),
        ],
    );
}

#[test]
fn init_containers_count_by_their_peak() {
    let of = |name: &str, cpu: &str| container(name, json!({"cpu": cpu}), json!({}));
    let mut kept = of("kept", "100m");
    kept["restartPolicy"] = "Always".into();
    let spec = json!({"containers": [of("a", "200m")], "initContainers": [of("first", "1"), kept, of("second", "950m")]});
    // 1 alone, then 100m beside 950m; afterwards 300m.
    check(json!({"spec": spec}), &[("cpu", "1050m")]);
    let spec = json!({"containers": [of("a", "2")], "initContainers": [kept]});
    check(json!({"spec": spec}), &[("cpu", "2100m")]);
}

#[test]
fn resources_of_the_pod_replace_those_of_containers_and_overhead_is_added() {
    let a = container("a", json!({"cpu": "1", "example.com/gpu": "1"}), json!({"memory": "1Gi"}));
    let resources = json!({"requests": {"cpu": "2", "example.com/gpu": "9"}});
    let overhead = json!({"cpu": "100m", "memory": "1Gi"});
    check(
        json!({"spec": {"containers": [a], "resources": resources, "overhead": overhead}}),
        &[
            ("cpu", "2100m"),
            ("limits.cpu", "0"),
            ("memory", "1Gi"),
            ("limits.memory", "2Gi"),
            ("requests.example.com/gpu", "1"),
        ],
    );
}

#[test]
fn a_pod_that_ended_uses_nothing() {
    let a = container("a", json!({"cpu": "1"}), json!({}));
    for phase in ["Succeeded", "Failed"] {
        let pod = json!({"spec": {"containers": [a]}, "status": {"phase": phase}});
        check(pod, &[("pods", "0"), ("cpu", "0")]);
    }
}

#[test]
fn unspecified_resources_are_listed_by_container() {
    let a = container("a", json!({"cpu": "1"}), json!({}));
    let b = container("b", json!({}), json!({"memory": "1Gi"}));
    let pod = json!({"spec": {"containers": [b, a]}});
    let required = ["pods", "cpu", "limits.memory", "requests.memory", "ephemeral-storage"];
    let missing = "cpu for: b; limits.memory for: a; requests.memory for: a,b";
    assert_eq!(unspecified(&pod, required).as_deref(), Some(missing));
    assert_eq!(unspecified(&pod, ["pods", "requests.storage"]), None);
    let whole = json!({"spec": {"containers": [{"name": "a"}], "resources": {"limits": {"cpu": "1"}}}});
    assert_eq!(unspecified(&whole, required), None);
}

#[test]
fn facts_of_pods_are_those_of_kubernetes() {
    let check = |pod: Value, expected: (bool, bool, &str, bool)| {
        let ScopeFacts::Pod { best_effort, terminating, priority_class, cross_namespace } = usage(&pod).facts
        else {
            panic!("not the facts of a pod")
        };
        assert_eq!((best_effort, terminating, &*priority_class, cross_namespace), expected, "{pod}");
    };
    check(json!({"spec": {"containers": [{"name": "a"}]}}), (true, false, "", false));
    let a = container("a", json!({"cpu": "0", "example.com/gpu": "1"}), json!({}));
    check(json!({"spec": {"containers": [a], "activeDeadlineSeconds": 0}}), (true, true, "", false));
    let a = container("a", json!({}), json!({"memory": "1"}));
    check(
        json!({"spec": {"initContainers": [a], "priorityClassName": "high"}}),
        (false, false, "high", false),
    );
    check(json!({"spec": {}, "status": {"qosClass": "Burstable"}}), (false, false, "", false));
    let term = json!({"topologyKey": "zone", "namespaceSelector": {}});
    for affinity in [
        json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}),
        json!({"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]}}),
    ] {
        check(json!({"spec": {"affinity": affinity}}), (true, false, "", true));
    }
    let term = json!({"topologyKey": "zone", "namespaces": []});
    let affinity = json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}});
    check(json!({"spec": {"affinity": affinity}}), (true, false, "", false));
}
