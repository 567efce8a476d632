//! In which trace an object was changed last.

use http::Method;
use machinery_apiserver::{Handle, Identity};
use machinery_objects::{
    Deleted, Deletion, Kind, Patch, PatchFormat, Preconditions, Scope, SpanIds, Traceparent, Writer, traced,
};
use serde_json::{Value, json};

use crate::client::{Client, widgets};

const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
const WIDGET: &str = "/apis/example.com/v1/namespaces/default/widgets/a";

/// Traces, each another one.
const TRACES: [&str; 4] = [
    "00-11111111111111111111111111111111-1111111111111111-01",
    "00-22222222222222222222222222222222-2222222222222222-01",
    "00-33333333333333333333333333333333-3333333333333333-00",
    "00-44444444444444444444444444444444-4444444444444444-01",
];

fn widget(color: &str) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a", "namespace": "default"},
        "spec": {"color": color},
    })
}

fn says(object: &Value) -> Option<&str> {
    object["metadata"]["annotations"].get(Traceparent::ANNOTATION)?.as_str()
}

fn version(object: &Value) -> &str {
    object["metadata"]["resourceVersion"].as_str().unwrap()
}

async fn send(client: &Client, method: Method, path: &str, trace: Option<&str>, body: &Value) -> Value {
    let content = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let mut headers = vec![("content-type", content)];
    headers.extend(trace.map(|trace| ("traceparent", trace)));
    client.ask(method, path, &headers, &body.to_string()).await.fine()
}

#[tokio::test]
async fn a_change_records_its_trace_context() {
    let (server, client) = widgets().await;
    let made = send(&client, Method::POST, WIDGETS, Some(TRACES[0]), &widget("red")).await;
    assert_eq!(says(&made), Some(TRACES[0]));
    assert!(
        !made["metadata"]["managedFields"].to_string().contains("traceparent"),
        "nobody manages it: {made}"
    );

    let mut other = made.clone();
    other["spec"]["color"] = "blue".into();
    let changed = send(&client, Method::PUT, WIDGET, Some(TRACES[1]), &other).await;
    assert_eq!((says(&changed), &changed["metadata"]["generation"]), (Some(TRACES[1]), &json!(2)));
    let status = json!({"status": {"phase": "up"}});
    let status = send(&client, Method::PATCH, &format!("{WIDGET}/status"), Some(TRACES[2]), &status).await;
    assert_eq!((says(&status), &status["metadata"]["generation"]), (Some(TRACES[2]), &json!(2)));
    let patched = json!({"metadata": {"labels": {"a": "b"}}});
    let patched = send(&client, Method::PATCH, WIDGET, Some(TRACES[3]), &patched).await;
    assert_eq!(says(&patched), Some(TRACES[3]));
    assert_eq!(client.get(WIDGET).await.fine(), patched);

    // A write without a trace context is not attributed to that of the previous write.
    let outside = send(&client, Method::PATCH, WIDGET, None, &json!({"spec": {"size": 9}})).await;
    assert_eq!((says(&outside), outside["metadata"].get("annotations")), (None, None));
    server.stop().await;
}

#[tokio::test]
async fn a_trace_context_alone_causes_no_write() {
    let (server, client) = widgets().await;
    let made = send(&client, Method::POST, WIDGETS, Some(TRACES[0]), &widget("red")).await;
    let mut forgets = made.clone();
    forgets["metadata"]["annotations"] = Value::Null;
    let mut means_well = made.clone();
    means_well["metadata"]["annotations"][Traceparent::ANNOTATION] = TRACES[2].into();
    let nothing = json!({});
    let status = format!("{WIDGET}/status");
    for (method, path, trace, body) in [
        (Method::PUT, WIDGET, Some(TRACES[1]), &made),
        (Method::PUT, WIDGET, Some(TRACES[1]), &forgets),
        (Method::PUT, WIDGET, Some(TRACES[1]), &means_well),
        (Method::PUT, WIDGET, None, &forgets),
        (Method::PUT, WIDGET, None, &made),
        (Method::PUT, &*status, Some(TRACES[1]), &made),
        (Method::PATCH, WIDGET, Some(TRACES[1]), &nothing),
        (Method::PATCH, WIDGET, None, &nothing),
    ] {
        let answer = send(&client, method.clone(), path, trace, body).await;
        assert_eq!(answer, made, "{method} {path} in {trace:?}");
    }
    assert_eq!(client.get(WIDGET).await.fine(), made);
    server.stop().await;
}

#[tokio::test]
async fn a_trace_annotation_of_a_client_is_kept() {
    let (server, client) = widgets().await;
    let mut by_hand = widget("red");
    by_hand["metadata"]["annotations"][Traceparent::ANNOTATION] = "mine".into();
    let made = send(&client, Method::POST, WIDGETS, None, &by_hand).await;
    assert_eq!(says(&made), Some("mine"));
    let changed = send(&client, Method::PATCH, WIDGET, None, &json!({"spec": {"size": 9}})).await;
    assert_eq!(says(&changed), Some("mine"));
    let other = json!({"metadata": {"annotations": {Traceparent::ANNOTATION: TRACES[0]}}});
    let other = send(&client, Method::PATCH, WIDGET, None, &other).await;
    assert_eq!(says(&other), Some(TRACES[0]));
    assert_ne!(version(&other), version(&changed));
    let traced = send(&client, Method::PATCH, WIDGET, Some(TRACES[1]), &json!({"spec": {"size": 8}})).await;
    assert_eq!(says(&traced), Some(TRACES[1]));
    assert!(
        !traced["metadata"]["managedFields"].to_string().contains("traceparent"),
        "nobody manages it: {traced}"
    );
    let outside = send(&client, Method::PATCH, WIDGET, None, &json!({"spec": {"size": 7}})).await;
    assert_eq!(says(&outside), None, "it was a stamp like any other");

    let by_hand = json!({"metadata": {"annotations": {Traceparent::ANNOTATION: "mine"}}});
    let by_hand = send(&client, Method::PATCH, WIDGET, None, &by_hand).await;
    assert_eq!(says(&by_hand), Some("mine"));
    let none = json!({"metadata": {"annotations": {Traceparent::ANNOTATION: null}}});
    let none = send(&client, Method::PATCH, WIDGET, None, &none).await;
    assert_eq!(says(&none), None, "who wrote it may take it away");
    assert_ne!(version(&none), version(&by_hand));
    server.stop().await;
}

#[tokio::test]
async fn an_invalid_traceparent_header_is_ignored() {
    let (server, client) = widgets().await;
    let long = format!("{}-{}", TRACES[0].replacen("00-", "cc-", 1), "x".repeat(8000));
    let as_read = TRACES[0];
    let check = async |headers: &[(&str, &str)], expected: Option<&str>| {
        let made = client.ask(Method::POST, WIDGETS, headers, &widget("red").to_string()).await;
        assert_eq!((made.code, says(&made.body)), (201, expected), "{headers:?}");
        client.delete(WIDGET).await.fine();
    };
    for none in ["", "none", "00-0-0-01", &TRACES[0][..54], &TRACES[0].replacen("00-", "ff-", 1)] {
        check(&[("traceparent", none)], None).await;
    }
    check(&[("traceparent", TRACES[0]), ("traceparent", TRACES[1])], None).await;
    check(&[("tracestate", "a=b")], None).await;
    check(&[("traceparent", &long)], Some(as_read)).await;
    server.stop().await;
}

#[tokio::test]
async fn a_delete_that_updates_the_object_records_its_trace_context() {
    let (server, client) = widgets().await;
    let mut held = widget("red");
    held["metadata"]["finalizers"] = json!(["example.com/held"]);
    send(&client, Method::POST, WIDGETS, Some(TRACES[0]), &held).await;
    let marked = send(&client, Method::DELETE, WIDGET, Some(TRACES[1]), &json!({})).await;
    assert_eq!(says(&marked), Some(TRACES[1]));
    let again = send(&client, Method::DELETE, WIDGET, Some(TRACES[2]), &json!({})).await;
    assert_eq!(again, marked, "it is marked already");
    server.stop().await;
}

#[tokio::test]
async fn a_handle_writes_in_the_trace_of_its_caller() {
    let (server, client) = widgets().await;
    let kind = Kind::new("example.com/v1", "Widget", "widgets", Scope::Namespaced).unwrap();
    let handle: Handle<Value> = server.handle_of(kind, Identity::admin());
    let ids = SpanIds::seeded(7);
    let (key, only_if) = ("default/a".parse().unwrap(), Preconditions::default());
    let check = |object: &Value, trace: Option<Traceparent>| {
        assert_eq!(says(object).map(str::to_owned), trace.map(|trace| trace.to_string()));
    };

    let mut held = widget("red");
    held["metadata"]["finalizers"] = json!(["example.com/held"]);
    let trace = Some(ids.root());
    let made = traced(trace, handle.create(&held, None)).await.unwrap().object;
    check(&made, trace);
    let same = traced(Some(ids.root()), handle.update(&made, &only_if)).await.unwrap().object;
    assert_eq!(same, made);

    let mut other = made.clone();
    other["spec"]["color"] = "blue".into();
    let trace = Some(ids.root());
    let changed = traced(trace, handle.update(&other, &only_if)).await.unwrap().object;
    check(&changed, trace);
    let mut up = changed.clone();
    up["status"] = json!({"phase": "up"});
    let trace = Some(ids.root());
    let up = traced(trace, handle.update_status(&up, &only_if)).await.unwrap().object;
    check(&up, trace);
    let body = r#"{"spec": {"size": 9}}"#.as_bytes().into();
    let patch = Patch { format: PatchFormat::Merge, body, status: false };
    let trace = Some(ids.root());
    check(&traced(trace, handle.patch(&key, &patch, &only_if)).await.unwrap().object, trace);
    let trace = Some(ids.root());
    let marked = traced(trace, handle.delete(&key, &Deletion::default())).await.unwrap();
    let Deleted::Marked(marked) = marked else { panic!("it has a finalizer") };
    check(&marked.object, trace);
    check(&client.get(WIDGET).await.fine(), trace);

    let patch = Patch { body: r#"{"spec": {"size": 8}}"#.as_bytes().into(), ..patch };
    check(&handle.patch(&key, &patch, &only_if).await.unwrap().object, None);
    server.stop().await;
}
