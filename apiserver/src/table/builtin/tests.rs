use serde_json::{Value, json};

use super::builtin;
use crate::table::age::timestamp;

const CREATED: &str = "2026-01-01T00:00:00Z";

/// An hour after everything was created.
#[track_caller]
fn check(group: &str, kind: &str, mut object: Value, expected: Value) {
    object["metadata"]["name"] = "a".into();
    object["metadata"]["creationTimestamp"] = CREATED.into();
    let columns = builtin(group, kind);
    let now = timestamp("2026-01-01T03:00:00Z").expect("a time");
    let cells = columns.cells(&object, now);
    assert_eq!(columns.definitions().as_array().map(Vec::len), Some(cells.len()), "a cell for each column");
    assert_eq!(Value::from(cells), expected, "{kind}");
}

#[test]
fn every_kind_takes_an_empty_object_and_nonsense() {
    let now = timestamp(CREATED).expect("a time");
    let nonsense = json!({
        "metadata": [1], "spec": {"containers": 1, "ports": [1, {}], "replicas": "x", "selector": [1], "versions": [1], "type": "LoadBalancer"},
        "status": {"conditions": [[]], "containerStatuses": [1], "initContainerStatuses": [{}], "addresses": "x", "loadBalancer": {"ingress": [{}]}},
        "subjects": [1], "series": {}, "data": 7,
    });
    for (group, kind) in [
        ("", "ConfigMap"),
        ("", "Event"),
        ("", "Namespace"),
        ("", "Node"),
        ("", "Pod"),
        ("", "ResourceQuota"),
        ("", "Secret"),
        ("", "Service"),
        ("", "ServiceAccount"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("apps", "Deployment"),
        ("apps", "ReplicaSet"),
        ("autoscaling", "Scale"),
        ("coordination.k8s.io", "Lease"),
        ("rbac.authorization.k8s.io", "RoleBinding"),
        ("rbac.authorization.k8s.io", "Role"),
    ] {
        for object in [json!({}), json!(null), nonsense.clone()] {
            let columns = builtin(group, kind);
            let cells = columns.cells(&object, now).len();
            assert_eq!(columns.definitions().as_array().map(Vec::len), Some(cells), "{kind}");
            columns.conditions(&object);
        }
    }
}

#[test]
fn a_quota_shows_used_and_hard_amounts() {
    let status = json!({
        "hard": {"pods": "5", "limits.cpu": "2", "count/secrets": "1k", "limits.memory": "1Gi"},
        "used": {"pods": "3", "limits.cpu": "500m", "count/secrets": "7"},
    });
    check(
        "",
        "ResourceQuota",
        json!({"status": status}),
        json!(["a", "count/secrets: 7/1k, pods: 3/5", "limits.cpu: 500m/2, limits.memory: 0/1Gi", "3h"]),
    );
    check("", "ResourceQuota", json!({}), json!(["a", "", "", "3h"]));
}

#[test]
fn kinds_without_columns_show_the_creation_time() {
    check("rbac.authorization.k8s.io", "ClusterRole", json!({}), json!(["a", CREATED]));
    let role = builtin("rbac.authorization.k8s.io", "Role");
    assert_eq!(role.definitions()[1]["name"], "Created At");
    assert_eq!(role.definitions()[1]["type"], "date");
}

#[test]
fn core_kinds() {
    check("", "Namespace", json!({"status": {"phase": "Active"}}), json!(["a", "Active", "3h"]));
    check("", "ConfigMap", json!({"data": {"x": "1"}, "binaryData": {"y": ""}}), json!(["a", 2, "3h"]));
    check("", "Secret", json!({"type": "Opaque"}), json!(["a", "Opaque", 0, "3h"]));
    check("", "ServiceAccount", json!({"secrets": [{}]}), json!(["a", 1, "3h"]));
    check(
        "coordination.k8s.io",
        "Lease",
        json!({"spec": {"holderIdentity": "me"}}),
        json!(["a", "me", "3h"]),
    );
}

#[test]
fn services() {
    let ports = json!([{"port": 80, "protocol": "TCP", "nodePort": 30080}, {"port": 53, "protocol": "UDP"}]);
    check(
        "",
        "Service",
        json!({"spec": {"type": "ClusterIP", "clusterIP": "10.0.0.1", "ports": ports, "selector": {"b": "2", "a": "1"}}}),
        json!(["a", "ClusterIP", "10.0.0.1", "<none>", "80:30080/TCP,53/UDP", "3h", "a=1,b=2"]),
    );
    check(
        "",
        "Service",
        json!({"spec": {"type": "LoadBalancer", "clusterIPs": ["None"]}}),
        json!(["a", "LoadBalancer", "None", "<pending>", "<none>", "3h", "<none>"]),
    );
    let given = json!({"loadBalancer": {"ingress": [{"ip": "2.2.2.2"}, {"hostname": "1.example"}]}});
    check(
        "",
        "Service",
        json!({"spec": {"type": "LoadBalancer", "externalIPs": ["3.3.3.3"]}, "status": given}),
        json!(["a", "LoadBalancer", "<none>", "1.example,2.2.2.2,3.3.3.3", "<none>", "3h", "<none>"]),
    );
    check(
        "",
        "Service",
        json!({"spec": {"type": "ExternalName", "externalName": "db.example"}}),
        json!(["a", "ExternalName", "<none>", "db.example", "<none>", "3h", "<none>"]),
    );
}

#[test]
fn nodes() {
    check(
        "",
        "Node",
        json!({
            "metadata": {"labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "edge", "node-role.kubernetes.io/": ""}},
            "spec": {"unschedulable": true},
            "status": {
                "conditions": [{"type": "Ready", "status": "False"}],
                "addresses": [{"type": "InternalIP", "address": "10.0.0.2"}],
                "nodeInfo": {"kubeletVersion": "v1.37.2", "kernelVersion": "6.8"},
            },
        }),
        json!([
            "a",
            "NotReady,SchedulingDisabled",
            "edge,worker",
            "3h",
            "v1.37.2",
            "10.0.0.2",
            "<none>",
            "<unknown>",
            "6.8",
            "<unknown>"
        ]),
    );
    check(
        "",
        "Node",
        json!({}),
        json!([
            "a",
            "Unknown",
            "<none>",
            "3h",
            "",
            "<none>",
            "<none>",
            "<unknown>",
            "<unknown>",
            "<unknown>"
        ]),
    );
}

#[test]
fn definitions_of_kinds() {
    check(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        json!({
            "spec": {
                "group": "example.com", "scope": "Namespaced", "names": {"kind": "Widget", "shortNames": ["w", "wd"]},
                "versions": [
                    {"name": "v2", "served": true}, {"name": "v1", "served": true, "storage": true}, {"name": "v0", "served": false},
                ],
            },
            "status": {"conditions": [{"type": "Established", "status": "True"}]},
        }),
        json!(["a", "Namespaced", "v1(storage),v2", CREATED, "example.com", "Widget", "w,wd", true]),
    );
}

#[test]
fn events_of_both_groups() {
    check(
        "",
        "Event",
        json!({
            "type": "Normal", "reason": "Made", "message": " made it\n", "count": 3, "involvedObject": {"kind": "Widget", "name": "w"},
            "firstTimestamp": "2026-01-01T02:00:00Z", "lastTimestamp": "2026-01-01T02:59:00Z", "source": {"component": "maker", "host": "h"},
        }),
        json!(["60s", "Normal", "Made", "widget/w", "", "maker, h", "made it", "60m", 3, "a"]),
    );
    check(
        "events.k8s.io",
        "Event",
        json!({
            "type": "Warning", "reason": "Lost", "note": "gone", "regarding": {"kind": "Node", "fieldPath": "spec.x"},
            "eventTime": "2026-01-01T02:00:00.000000Z", "reportingController": "c",
        }),
        json!(["60m", "Warning", "Lost", "node", "spec.x", "c", "gone", "60m", 1, "a"]),
    );
    check(
        "events.k8s.io",
        "Event",
        json!({"eventTime": "2026-01-01T02:00:00.000000Z", "series": {"count": 9, "lastObservedTime": "2026-01-01T02:59:30.000000Z"}}),
        json!(["30s", "", "", "", "", "", "", "60m", 9, "a"]),
    );
}

#[test]
fn bindings() {
    check(
        "rbac.authorization.k8s.io",
        "RoleBinding",
        json!({
            "roleRef": {"kind": "Role", "name": "edit"},
            "subjects": [
                {"kind": "User", "name": "u1"}, {"kind": "User", "name": "u2"}, {"kind": "Group", "name": "g"},
                {"kind": "ServiceAccount", "namespace": "n", "name": "s"},
            ],
        }),
        json!(["a", "Role/edit", "3h", "u1, u2", "g", "n/s"]),
    );
}

#[test]
fn workloads() {
    let template =
        json!({"spec": {"containers": [{"name": "c", "image": "i:1"}, {"name": "d", "image": "i:2"}]}});
    let selector = json!({
        "matchLabels": {"app": "web"},
        "matchExpressions": [
            {"key": "z", "operator": "Exists"}, {"key": "b", "operator": "In", "values": ["y", "x"]}, {"key": "old", "operator": "DoesNotExist"},
        ],
    });
    check(
        "apps",
        "Deployment",
        json!({"spec": {"replicas": 3, "template": template, "selector": selector}, "status": {"readyReplicas": 2, "updatedReplicas": 1}}),
        json!(["a", "2/3", 1, 0, "3h", "c,d", "i:1,i:2", "app=web,b in (x,y),!old,z"]),
    );
    check(
        "apps",
        "ReplicaSet",
        json!({"status": {"replicas": 1}}),
        json!(["a", 1, 1, 0, "3h", "", "", "<none>"]),
    );
    check(
        "autoscaling",
        "Scale",
        json!({"spec": {"replicas": 3}, "status": {"replicas": 2}}),
        json!(["a", 3, 2, "3h"]),
    );
}

fn pod(object: Value, ready: &str, status: &str, restarts: &str) {
    check(
        "",
        "Pod",
        object,
        json!(["a", ready, status, restarts, "3h", "<none>", "<none>", "<none>", "<none>"]),
    );
}

#[test]
fn pods() {
    let two = json!({"containers": [{"name": "c"}, {"name": "d"}]});
    pod(json!({"spec": two, "status": {"phase": "Pending"}}), "0/2", "Pending", "0");
    let up = json!({"ready": true, "state": {"running": {}}});
    let done = json!({"state": {"terminated": {"reason": "Completed"}}});
    let ready = json!([{"type": "Ready", "status": "True"}]);
    pod(
        json!({"spec": two, "status": {"phase": "Running", "containerStatuses": [up, up], "conditions": ready}}),
        "2/2",
        "Running",
        "0",
    );
    pod(
        json!({"spec": two, "status": {"phase": "Running", "containerStatuses": [done, up], "conditions": ready}}),
        "1/2",
        "Running",
        "0",
    );
    pod(
        json!({"spec": two, "status": {"phase": "Running", "containerStatuses": [done, up]}}),
        "1/2",
        "NotReady",
        "0",
    );
    let crashed = json!({
        "restartCount": 4, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"finishedAt": "2026-01-01T02:58:00Z"}},
    });
    pod(
        json!({"spec": two, "status": {"phase": "Running", "containerStatuses": [crashed, up]}}),
        "1/2",
        "CrashLoopBackOff",
        "4 (2m ago)",
    );
    pod(
        json!({"spec": two, "status": {"containerStatuses": [{"state": {"terminated": {"exitCode": 3}}}]}}),
        "0/2",
        "ExitCode:3",
        "0",
    );
    pod(
        json!({"spec": two, "status": {"containerStatuses": [{"state": {"terminated": {"signal": 9}}}]}}),
        "0/2",
        "Signal:9",
        "0",
    );
    pod(json!({"spec": two, "status": {"phase": "Failed", "reason": "Evicted"}}), "0/2", "Evicted", "0");
    let gated = json!([{"type": "PodScheduled", "reason": "SchedulingGated"}]);
    pod(
        json!({"spec": two, "status": {"phase": "Pending", "conditions": gated}}),
        "0/2",
        "SchedulingGated",
        "0",
    );
    pod(
        json!({"metadata": {"deletionTimestamp": CREATED}, "spec": two, "status": {"phase": "Running"}}),
        "0/2",
        "Terminating",
        "0",
    );
    pod(
        json!({"metadata": {"deletionTimestamp": CREATED}, "spec": two, "status": {"phase": "Failed"}}),
        "0/2",
        "Failed",
        "0",
    );
    pod(
        json!({"metadata": {"deletionTimestamp": CREATED}, "spec": two, "status": {"reason": "NodeLost"}}),
        "0/2",
        "Unknown",
        "0",
    );
}

#[test]
fn pods_that_initialize() {
    let spec = json!({"containers": [{"name": "c"}], "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}]});
    let of =
        |init: Value| json!({"spec": spec, "status": {"phase": "Pending", "initContainerStatuses": init}});
    pod(of(json!([{"name": "i", "state": {"running": {}}}])), "0/2", "Init:0/2", "0");
    pod(
        of(json!([{"name": "i", "restartCount": 2, "state": {"waiting": {"reason": "ImagePullBackOff"}}}])),
        "0/2",
        "Init:ImagePullBackOff",
        "2",
    );
    pod(of(json!([{"name": "i", "state": {"terminated": {"exitCode": 1}}}])), "0/2", "Init:ExitCode:1", "0");
    let done = json!({"name": "i", "restartCount": 5, "state": {"terminated": {"exitCode": 0}}});
    let sidecar =
        json!({"name": "s", "started": true, "ready": true, "restartCount": 1, "state": {"running": {}}});
    let mut pod_up = of(json!([done, sidecar]));
    pod_up["status"]["containerStatuses"] = json!([{"name": "c", "ready": true, "state": {"running": {}}}]);
    pod_up["status"]["phase"] = "Running".into();
    pod(pod_up, "2/2", "Running", "1");
}

#[test]
fn finished_pods_and_readiness_gates_are_shown() {
    let over = json!({
        "spec": {"readinessGates": [{"conditionType": "A"}, {"conditionType": "B"}], "nodeName": "n"},
        "status": {"phase": "Succeeded", "conditions": [{"type": "A", "status": "True"}], "podIPs": [{"ip": "10.1.1.1"}]},
    });
    let conditions = builtin("", "Pod").conditions(&over);
    assert_eq!(conditions, Some(json!([{"type": "Completed", "status": "True", "reason": "Succeeded"}])));
    check("", "Pod", over, json!(["a", "0/0", "Succeeded", "0", "3h", "10.1.1.1", "n", "<none>", "1/2"]));
}
