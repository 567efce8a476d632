//! The memory of one request: at most 32 times its body, and a constant.
//!
//! An error names the path of its field. Where a path has a long name, thousands of errors once
//! took gigabytes.

use serde_json::{Map, Value, json};

use super::bombs::dense;
use super::process::{HISTORY, Process};
use super::row::{ALL, ANY, BAD, CONFIG, CONFIGS, CRDS, ExpectedAnswer, INVALID, JSON, REFUSED, Row};
use super::{patches, rows};

/// Memory of a request beyond that of its body.
const CONSTANT: u64 = 8 << 20;
/// Memory per byte of the body.
const PER_BYTE: u64 = 32;
/// Memory that may be left from the previous request.
const KEPT: u64 = 2 << 20;
/// Longest answer of a refusal.
const ANSWER: usize = 1 << 20;

const CREATED: ExpectedAnswer = (201, "");

const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
const OPENS: &str = "/apis/example.com/v1/namespaces/default/opens";
const PODS: &str = "/api/v1/namespaces/default/pods";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

/// Sends a row, and returns a complaint if it took too much memory, or has an answer that is not as
/// expected.
async fn complaint(server: &Process, row: &Row) -> Option<String> {
    let before = server.settled().await;
    server.forget_peak();
    let (code, body) = server.answer(row).await?;
    let more = server.memory("VmHWM:").saturating_sub(before);
    let most = PER_BYTE * row.length() as u64 + CONSTANT;
    let fits = more <= most && (code < 400 || body.len() <= ANSWER);
    (!fits || code >= 500 || !row.expects(code)).then(|| {
        let (more, most, begin) =
            (more >> 10, most >> 10, String::from_utf8_lossy(&body[..body.len().min(200)]));
        format!("{code}, {more} KiB of at most {most} KiB, {} bytes {begin}: {row:?}", body.len())
    })
}

/// Sends the rows one after the other to one server, and fails with the complaints.
async fn check(rows: &[Row]) {
    let (mut wrong, server) = (Vec::new(), Process::start().await);
    for row in rows {
        wrong.extend(complaint(&server, row).await);
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[tokio::test]
async fn every_malformed_request_takes_bounded_memory() {
    let mut all = [rows(), dense(), patches::bombs()].concat();
    // Of the many short ones, every seventh: their memory is the same.
    let mut number = 0;
    all.retain(|row| {
        number += 1;
        row.length() > 2048 || number % 7 == 0
    });
    let (mut wrong, mut server) = (Vec::new(), Process::start().await);
    for row in all {
        // Memory left from the previous request would hide the use of this one.
        if server.memory("VmRSS:") > server.base + KEPT {
            server = Process::start().await;
        }
        wrong.extend(complaint(&server, &row.expecting(ANY)).await);
    }
    assert!(wrong.is_empty(), "{} rows:\n{}", wrong.len(), wrong.join("\n"));
}

/// Story: a custom resource of 325 KB, with 10 000 unknown fields under one long key, killed a
/// server of 8 GiB.
#[tokio::test]
async fn ten_thousand_unknown_fields_under_a_long_key_take_bounded_memory() {
    let key = "k".repeat(200_000);
    let fields: Map<String, Value> = (0..10_000).map(|at| (format!("x{at}"), json!(1))).collect();
    let object = |kind: &str| {
        json!({
            "apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": "n"}, "spec": {(key.as_str()): fields},
        })
        .to_string()
    };
    let (widget, open) = (object("Widget"), object("Open"));
    let mut rows = Vec::new();
    for validation in ["Strict", "Warn", "Ignore"] {
        let at = |path: &str| format!("{path}?fieldValidation={validation}");
        let expected = if validation == "Strict" { BAD } else { ANY };
        for media in [JSON, "application/yaml"] {
            rows.push(Row::post(&at(ALL), media, widget.clone(), expected));
            rows.push(Row::post(&at(OPENS), media, open.clone(), expected));
        }
        let one = format!("{OPENS}/n?fieldManager=m&fieldValidation={validation}");
        rows.push(Row::patch(&one, APPLY, open.clone(), ANY));
        rows.push(Row::patch(&one, MERGE, open.clone(), ANY));
    }
    check(&rows).await;
}

/// Objects of one field take a hundred times their bytes: as many as fit are accepted, and more are
/// refused before they are in memory.
#[tokio::test]
async fn objects_of_one_field_take_bounded_memory() {
    let mut rows = Vec::new();
    for count in [1_000, 4_000, 8_000, 12_000, 14_000, 16_000, 45_000] {
        let list: Vec<_> = (0..count).map(|_| json!({"a": 1})).collect();
        let map: Map<_, _> = (0..count).map(|at| (format!("{at:x}"), json!({"a": 1}))).collect();
        for (name, tree) in [("list", Value::Array(list)), ("map", Value::Object(map))] {
            let spec = json!({"o": {"known": "s", "x": tree}});
            let open = json!({
                "apiVersion": "example.com/v1", "kind": "Open", "metadata": {"name": format!("{name}-{count}")}, "spec": spec,
            });
            let body = open.to_string();
            for media in [JSON, "application/yaml"] {
                rows.push(Row::post(OPENS, media, body.clone(), ANY));
            }
            let one = format!("{OPENS}/{name}-{count}");
            rows.push(Row::patch(&one, MERGE, json!({"spec": spec}).to_string(), ANY));
            let applied = body.replacen(&format!("{name}-{count}"), "applied", 1);
            rows.push(Row::patch(&format!("{OPENS}/applied?fieldManager=m&force=true"), APPLY, applied, ANY));
        }
    }
    check(&rows).await;
}

/// Duplicate keys, wrong types and forbidden values, each below a long key.
#[tokio::test]
async fn errors_below_a_long_key_take_bounded_memory() {
    let key = "k".repeat(300_000);
    let twice = format!("{{{}\"a\":1}}", "\"a\":1,\"b\":1,".repeat(10_000));
    let wrong: Map<String, Value> = (0..10_000).map(|at| (format!("x{at}"), json!({"known": 1}))).collect();
    let open = |spec: String| {
        format!(
            r#"{{"apiVersion":"example.com/v1","kind":"Open","metadata":{{"name":"n"}},"spec":{{"{key}":{spec}}}}}"#
        )
    };
    let known = json!({"known": wrong}).to_string();
    let labels: Map<String, Value> = (0..10_000).map(|at| (format!("{key:.30}?{at}"), json!("?"))).collect();
    let labels = json!({"metadata": {"name": "n", "labels": labels}}).to_string();
    let mut keys: Map<String, Value> = (0..10_000).map(|at| (format!("?{at}"), json!(""))).collect();
    keys.insert(format!("?{key}"), json!(""));
    let config = json!({"metadata": {"name": "n"}, "data": keys}).to_string();
    let hard: Map<String, Value> = (0..10_000).map(|at| (format!("?{at}"), json!("-1"))).collect();
    let quota =
        json!({"metadata": {"name": "n"}, "spec": {"hard": hard, "scopes": vec!["x"; 10_000]}}).to_string();
    let strict = |path: &str| format!("{path}?fieldValidation=Strict");
    check(&[
        Row::post(&strict(OPENS), JSON, open(twice.clone()), BAD),
        Row::post(&strict(OPENS), "application/yaml", open(twice), BAD),
        Row::post(OPENS, JSON, open(known), INVALID),
        Row::post(CONFIGS, JSON, labels, INVALID),
        Row::post(CONFIGS, JSON, config.clone(), INVALID),
        Row::patch(CONFIG, MERGE, config.replacen("\"name\":\"n\"", "\"name\":\"a\"", 1), INVALID),
        Row::post("/api/v1/namespaces/default/resourcequotas", JSON, quota, INVALID),
    ])
    .await;
}

/// Story: two applies of 503 KB of Pods by a namespace's admin killed a server.
#[tokio::test]
async fn two_conflicting_applies_of_long_names_take_bounded_memory() {
    let key = "k".repeat(200_000);
    let pod = |value: &str| {
        let annotations: Map<String, Value> =
            (0..10_000).map(|at| (format!("a.b/{at}"), json!(value))).collect();
        let selector: Map<String, Value> = (0..2_000).map(|at| (format!("s{at}"), json!(value))).collect();
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "annotations": annotations},
            "spec": {
                "nodeSelector": selector,
                "containers": [{"name": "c", "image": value, "env": [{"name": key, "value": value}],
                    "resources": {"limits": {(key.as_str()): value}}}],
            },
        })
        .to_string()
    };
    let apply = |manager: &str, body: String| {
        Row::patch(&format!("{PODS}/p?fieldManager={manager}"), APPLY, body, ANY)
    };
    // Each unknown field is below the long key.
    let wrong: Map<String, Value> = (0..10_000).map(|at| (format!("x{at}"), json!({}))).collect();
    let unknown = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"nodeSelector": {"a": 1}, (key.as_str()): wrong, "containers": [{"name": key, "resources": {"limits": wrong}}]},
    });
    check(&[
        apply("one", pod("1")),
        apply("two", pod("2")),
        apply("three", unknown.to_string()),
        Row::post(&format!("{PODS}?fieldValidation=Strict"), JSON, unknown.to_string(), BAD),
    ])
    .await;
}

/// Story: a SelfSubjectAccessReview of 2.9 MB, by a token without rights, took 1.9 GB.
#[tokio::test]
async fn a_long_access_review_takes_bounded_memory() {
    let review = |spec: Value| {
        let object =
            json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec});
        Row::post(REVIEWS, JSON, object.to_string(), ANY).header("impersonate-user", "nobody")
    };
    let key = "k".repeat(1_500_000);
    let texts = |value: Value| vec![value; 20_000];
    let unknown: Map<String, Value> = (0..50_000).map(|at| (format!("x{at}"), json!(1))).collect();
    let requirement = json!({"operator": "In", "key": ""});
    check(&[
        review(json!({"resourceAttributes": {"labelSelector": {"requirements": texts(requirement)}}})),
        review(json!({"resourceAttributes": {(key.as_str()): 1, "labelSelector": {"requirements": texts(json!(1))}}})),
        review(json!({(key.as_str()): unknown.clone(), "extra": {(key.as_str()): texts(json!(1))}})),
        review(json!({"extra": {(key.as_str()): texts(json!(1))}, "groups": texts(json!(1))})),
        review(json!({"resourceAttributes": unknown, "nonResourceAttributes": {"path": key}})),
    ])
    .await;
}

/// Story: the refusal of a ClusterRole lists what its author lacks.
#[tokio::test]
async fn a_refused_grant_takes_bounded_memory() {
    let role = |rules: Value| {
        let object = json!({"metadata": {"name": "r"}, "rules": rules});
        Row::post(ROLES, JSON, object.to_string(), REFUSED).header("impersonate-user", "clerk")
    };
    let all = || json!(["*"]);
    let may = json!({
        "metadata": {"name": "clerk"}, "rules": [{"apiGroups": all(), "resources": ["clusterroles"], "verbs": ["create"]}],
    });
    let bound = json!({
        "metadata": {"name": "clerk"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "clerk"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "clerk"}],
    });
    let long = "n".repeat(300_000);
    let names: Vec<String> = (0..2000).map(|at| format!("name-{at}")).collect();
    let rule = |at: usize| json!({"apiGroups": [format!("g{at}")], "resources": [format!("r{at}"), "pods"], "verbs": ["get", "list", "watch"]});
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let rows = [
        Row::post(ROLES, JSON, may.to_string(), CREATED),
        Row::post(bindings, JSON, bound.to_string(), CREATED),
        role(json!([{"apiGroups": names, "resources": [long], "verbs": ["get"]}])),
        role(json!([{"apiGroups": [long], "resources": ["pods"], "resourceNames": names, "verbs": names}])),
        role((0..10_000).map(rule).collect()),
        role(json!(vec![json!({"verbs": []}); 20_000])),
        role(json!([{"nonResourceURLs": names, "verbs": [long]}])),
    ];
    check(&rows).await;
}

/// Paths of schemas repeat the names of properties, and rules their whole text.
#[tokio::test]
async fn errors_of_a_definition_take_bounded_memory() {
    let definition = |schema: Value| {
        let mut definition = crate::client::definition();
        definition["metadata"]["name"] = "others.example.com".into();
        definition["spec"]["names"] = json!({"plural": "others", "kind": "Other"});
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] =
            json!({"type": "object", "properties": {"spec": schema}});
        definition.to_string()
    };
    let long = "n".repeat(200_000);
    let many = |one: Value| (0..5000).map(|at| (format!("p{at}"), one.clone())).collect::<Map<_, _>>();
    let below = |one: Value| json!({"type": "object", "properties": {(long.as_str()): {"type": "object", "properties": many(one)}}});
    let expression = format!("{}{}", "a + ".repeat(20_000), "1");
    let rules = |rule: &str| json!({"type": "string", "x-kubernetes-validations": [{"rule": rule}]});
    let strict = format!("{CRDS}?fieldValidation=Strict");
    check(&[
        Row::post(CRDS, JSON, definition(below(json!({"description": "d"}))), REFUSED),
        Row::post(CRDS, JSON, definition(below(json!({"type": "wrong"}))), REFUSED),
        Row::post(CRDS, JSON, definition(below(json!({"type": "array"}))), REFUSED),
        Row::post(CRDS, JSON, definition(below(json!({"type": "string", "default": 1}))), REFUSED),
        Row::post(CRDS, JSON, definition(below(json!({"type": "string", "$ref": "x"}))), REFUSED),
        Row::post(CRDS, JSON, definition(below(rules("self == 1"))), REFUSED),
        Row::post(CRDS, JSON, definition(rules(&expression)), REFUSED),
        Row::post(&strict, JSON, definition(below(json!({"type": "string", "odd": 1}))), BAD),
    ])
    .await;
}

/// Story: one ConfigMap, updated at full speed, killed a server of 3 GiB in 25 s: each revision of
/// it stayed in memory.
#[tokio::test]
async fn history_of_a_large_object_takes_bounded_memory() {
    let server = Process::start().await;
    // The watch cache of the kind begins with its first list.
    assert_eq!(server.send(&Row::get(CONFIGS, REFUSED)).await, Some(200));
    let (base, size) = (server.memory("VmRSS:"), 700_000);
    server.forget_peak();
    let updates = 100;
    for at in 0..updates {
        let text = format!("{at:08}").repeat(size / 8);
        let body = json!({"metadata": {"name": "a"}, "data": {"k": text}}).to_string();
        let update = Row::of(http::Method::PUT, CONFIG, REFUSED).with(JSON, body);
        assert_eq!(server.send(&update).await, Some(200));
    }
    let more = server.memory("VmHWM:").saturating_sub(base);
    let most = 2 * HISTORY + PER_BYTE * u64::try_from(size).unwrap();
    assert!(u64::try_from(updates * size).unwrap() > most, "all of it would not fit");
    assert!(more < most, "{} MiB of at most {} MiB", more >> 20, most >> 20);
}
