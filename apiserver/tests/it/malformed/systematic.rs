//! Families of requests, each wrong in one way at every place where it can be.

use http::Method;
use serde_json::{Value, json};

use super::row::{ALL, BAD, CONFIG, CONFIGS, JSON, MEDIA, NOT_ACCEPTABLE, ONE, REFUSED, Row};

const WIDGET: &str = r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"b","labels":{"x":"y"}},"spec":{"color":"red","tags":["p","q"],"size":7}}"#;
const NEW_CONFIG: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","finalizers":["a.b/c"]},"data":{"k":"v"},"immutable":false}"#;
const MERGE: &str = "application/merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

pub(super) fn rows() -> Vec<Row> {
    [broken(), cut_patches(), wrong_types(), options(), selectors(), media(), deep(), cut_messages()].concat()
}

/// Two bodies, truncated at every position, and with invalid JSON at every position.
fn broken() -> Vec<Row> {
    let mut rows = Vec::new();
    for (path, text) in [(ALL, WIDGET), (CONFIGS, NEW_CONFIG)] {
        for at in 1..text.len() {
            let (before, after) = text.split_at(at);
            rows.push(Row::post(path, JSON, before, BAD));
            rows.push(Row::post(path, JSON, format!("{before}\u{1}{after}"), BAD));
            if "{}[]:,\"".contains(&after[..1]) {
                rows.push(Row::post(path, JSON, format!("{before};{}", &after[1..]), BAD));
            }
        }
    }
    rows
}

/// Patches of each form, cut at every place.
fn cut_patches() -> Vec<Row> {
    let merge = r#"{"metadata":{"labels":{"x":"z"}},"data":{"k":"w"}}"#;
    let json = r#"[{"op":"test","path":"/metadata/name","value":"a"},{"op":"add","path":"/metadata/labels","value":{"x":"z"}}]"#;
    let apply = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"w"}}"#;
    let apply_at = format!("{CONFIG}?fieldManager=me");
    let forms = [
        (CONFIG, MERGE, merge),
        (ONE, MERGE, merge),
        (CONFIG, STRATEGIC, merge),
        (CONFIG, JSON_PATCH, json),
        (ONE, JSON_PATCH, json),
        (&*apply_at, APPLY, apply),
    ];
    let mut rows = Vec::new();
    for (path, media, text) in forms {
        rows.extend((1..text.len()).map(|at| Row::patch(path, media, text[..at].to_owned(), REFUSED)));
    }
    rows
}

/// Values of a wrong type, by field.
fn wrong_metadata() -> Vec<(&'static str, Value)> {
    let texts = [json!(true), json!(7), json!(1.5), json!([]), json!({}), json!(["x"]), json!({"a": "b"})];
    let maps = [
        json!(true),
        json!(7),
        json!("x"),
        json!([]),
        json!(["x"]),
        json!({"a": 1}),
        json!({"a": true}),
        json!({"a": []}),
        json!({"a": {}}),
    ];
    let lists = [
        json!(true),
        json!(7),
        json!("x"),
        json!({}),
        json!({"a": "b"}),
        json!([1]),
        json!([true]),
        json!([{}]),
        json!([[]]),
    ];
    let numbers = [json!(true), json!("x"), json!(1.5), json!([]), json!({}), json!("7"), json!(1e30)];
    let times = [
        json!(true),
        json!(7),
        json!([]),
        json!({}),
        json!("x"),
        json!("2026-13-01T00:00:00Z"),
        json!("now"),
    ];
    let objects =
        [json!(true), json!(7), json!("x"), json!({}), json!([1]), json!(["x"]), json!([[]]), json!([true])];
    let mut wrong = Vec::new();
    let families: [(&[&str], &[Value]); 6] = [
        (&["name", "generateName", "namespace", "uid", "resourceVersion", "selfLink"], &texts),
        (&["labels", "annotations"], &maps),
        (&["finalizers"], &lists),
        (&["generation", "deletionGracePeriodSeconds"], &numbers),
        (&["creationTimestamp", "deletionTimestamp"], &times),
        (&["ownerReferences", "managedFields"], &objects),
    ];
    for (fields, values) in families {
        for field in fields {
            wrong.extend(values.iter().map(|value| (*field, value.clone())));
        }
    }
    wrong
}

fn wrong_types() -> Vec<Row> {
    let mut rows = Vec::new();
    for (field, value) in wrong_metadata() {
        for (all, one, text) in [(ALL, ONE, WIDGET), (CONFIGS, CONFIG, NEW_CONFIG)] {
            let mut body: Value = serde_json::from_str(text).unwrap();
            body["metadata"][field] = value.clone();
            rows.push(Row::post(all, JSON, body.to_string(), REFUSED));
            if field != "name" {
                body["metadata"]["name"] = "a".into();
            }
            rows.push(Row::of(Method::PUT, one, REFUSED).with(JSON, body.to_string()));
            let merge = json!({"metadata": {field: value}});
            rows.push(Row::patch(one, MERGE, merge.to_string(), REFUSED));
            let add = json!([{"op": "add", "path": format!("/metadata/{field}"), "value": value}]);
            rows.push(Row::patch(one, JSON_PATCH, add.to_string(), REFUSED));
        }
    }
    let of_widgets = [
        ("spec", vec![json!(true), json!(7), json!("x"), json!([])]),
        ("spec/color", vec![json!(true), json!(7), json!([]), json!({}), json!("pink"), json!("")]),
        (
            "spec/size",
            vec![
                json!(true),
                json!("x"),
                json!(1.5),
                json!([]),
                json!({}),
                json!(0),
                json!(-1),
                json!(1e300),
            ],
        ),
        (
            "spec/tags",
            vec![
                json!(true),
                json!(7),
                json!("x"),
                json!({}),
                json!([1]),
                json!([true]),
                json!([{}]),
                json!([[]]),
            ],
        ),
    ];
    for (place, values) in of_widgets {
        for value in values {
            let mut body: Value = serde_json::from_str(WIDGET).unwrap();
            *body.pointer_mut(&format!("/{place}")).unwrap() = value.clone();
            rows.push(Row::post(ALL, JSON, body.to_string(), REFUSED));
            body["metadata"]["name"] = "a".into();
            rows.push(Row::of(Method::PUT, ONE, REFUSED).with(JSON, body.to_string()));
            let add = json!([{"op": "add", "path": format!("/{place}"), "value": value}]);
            rows.push(Row::patch(ONE, JSON_PATCH, add.to_string(), REFUSED));
        }
    }
    rows
}

/// Options of each verb that are none.
fn options() -> Vec<Row> {
    let long = format!("fieldManager={}", "m".repeat(129));
    let of_writes = [
        "dryRun=x",
        "dryRun=all",
        "dryRun=All&dryRun=x",
        "dryRun=true",
        "fieldValidation=x",
        "fieldValidation=strict",
        "fieldValidation=Strict,Warn",
        &long,
        "fieldManager=a%01b",
        "fieldManager=%ff",
        "dryRun=%zz",
    ];
    let of_deletions = [
        "dryRun=x",
        "dryRun=all",
        "propagationPolicy=x",
        "propagationPolicy=background",
        "gracePeriodSeconds=x",
        "gracePeriodSeconds=1.5",
        "gracePeriodSeconds=99999999999999999999",
        "propagationPolicy=Orphan&orphanDependents=true",
    ];
    let mut rows = Vec::new();
    for (all, one, text) in [(ALL, ONE, WIDGET), (CONFIGS, CONFIG, NEW_CONFIG)] {
        for query in of_writes {
            rows.push(Row::post(&format!("{all}?{query}"), JSON, text, REFUSED));
            let same = text.replace(r#""name":"b""#, r#""name":"a""#);
            rows.push(Row::of(Method::PUT, format!("{one}?{query}"), REFUSED).with(JSON, same));
            rows.push(Row::patch(&format!("{one}?{query}"), MERGE, "{}", REFUSED));
            rows.push(Row::patch(&format!("{one}?{query}"), JSON_PATCH, "[]", REFUSED));
        }
        for query in of_deletions {
            rows.push(Row::of(Method::DELETE, format!("{one}?{query}"), REFUSED));
            rows.push(Row::of(Method::DELETE, format!("{all}?{query}"), REFUSED));
        }
    }
    rows
}

/// Selectors that are none, wherever one is read.
fn selectors() -> Vec<Row> {
    let labels = [
        "a b",
        "a in",
        "a in (",
        "a in (b",
        "a in )",
        "=a",
        "!=a",
        "a=b=c",
        "a==b==c",
        "a in b",
        "(a)",
        "a notin",
        "a notin b",
        "!",
        "!a b",
        "a,,b",
        ",",
        "a=b,",
        "-a",
        "a-",
        "a=-b",
        "a/b/c",
        "/a",
        "a/",
        "a=b c",
    ];
    let fields = [
        "metadata.name",
        "metadata.name=a=b,c",
        "spec.none=1",
        "metadata.uid=1",
        "=",
        "=a",
        "metadata.name in (a)",
        "!metadata.name",
    ];
    let escaped = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
    let queries: Vec<String> = labels
        .iter()
        .map(|text| format!("labelSelector={}", escaped(text)))
        .chain(fields.iter().map(|text| format!("fieldSelector={}", escaped(text))))
        .collect();
    let mut rows = Vec::new();
    for all in [ALL, CONFIGS] {
        for query in &queries {
            rows.push(Row::get(format!("{all}?{query}"), REFUSED));
            rows.push(Row::get(format!("{all}?watch=1&{query}"), REFUSED));
            rows.push(Row::of(Method::DELETE, format!("{all}?{query}"), REFUSED));
        }
    }
    rows
}

/// Media types that are neither read nor written.
fn media() -> Vec<Row> {
    let unknown = [
        "text/plain",
        "text/html",
        "application/xml",
        "application/jso",
        "application/json5",
        "application/ld+json",
        "json",
        "application",
        "application/json/x",
        "multipart/form-data",
        "application/octet-stream",
        "application/cbor",
        "application/x-www-form-urlencoded",
        "image/png",
    ];
    let mut rows = Vec::new();
    for (all, one, text) in [(ALL, ONE, WIDGET), (CONFIGS, CONFIG, NEW_CONFIG)] {
        for media in unknown {
            rows.push(Row::post(all, media, text, MEDIA));
            rows.push(Row::of(Method::PUT, one, MEDIA).with(media, text));
            rows.push(Row::patch(one, media, "{}", MEDIA));
            for path in [all.to_owned(), one.to_owned(), format!("{all}?watch=1")] {
                rows.push(Row::get(path, NOT_ACCEPTABLE).header("accept", media));
            }
        }
    }
    rows
}

/// Values beyond the nesting limit, in each notation.
fn deep() -> Vec<Row> {
    let mut rows = Vec::new();
    for depth in [130, 150, 200, 500, 1000, 5000] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let inner = if close == "}" { "1" } else { "" };
            let deep = format!("{}{inner}{}", open.repeat(depth), close.repeat(depth));
            for (all, one, name) in [(ALL, ONE, "spec"), (CONFIGS, CONFIG, "data")] {
                let body = format!(r#"{{"metadata":{{"name":"a"}},"{name}":{deep}}}"#);
                rows.push(Row::post(all, JSON, body.clone(), REFUSED));
                rows.push(Row::of(Method::PUT, one, REFUSED).with(JSON, body.clone()));
                rows.push(Row::patch(one, MERGE, body, REFUSED));
                let add = format!(r#"[{{"op":"add","path":"/{name}","value":{deep}}}]"#);
                rows.push(Row::patch(one, JSON_PATCH, add, REFUSED));
            }
        }
    }
    rows
}

/// Messages of other kinds than ConfigMap, truncated anywhere in the one field that holds the
/// object.
fn cut_messages() -> Vec<Row> {
    let messages: [(&str, &[u8]); 3] = [
        (
            "/apis/coordination.k8s.io/v1/namespaces/default/leases",
            include_bytes!("../../bodies/coordination.k8s.io.v1.Lease.full.pb"),
        ),
        ("/api/v1/namespaces/default/secrets", include_bytes!("../../bodies/core.v1.Secret.full.pb")),
        (
            "/apis/apps/v1/namespaces/default/deployments",
            include_bytes!("../../bodies/apps.v1.Deployment.full.pb"),
        ),
    ];
    let mut rows = Vec::new();
    for (path, whole) in messages {
        let end = whole.len() - 5;
        let lengths = (0..end).step_by(end / 80 + 1);
        rows.extend(lengths.map(|length| Row::post(path, PROTOBUF, whole[..length].to_vec(), REFUSED)));
    }
    rows
}
