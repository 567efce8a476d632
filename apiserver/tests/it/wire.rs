//! Content types of answers, compression, and legacy paths.

use std::io::Read as _;

use bytes::Bytes;
use flate2::read::GzDecoder;
use http::Request;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};

use crate::client::{Client, widgets};

const ALL: &str = "/apis/example.com/v1/namespaces/default/widgets";

async fn ask(
    client: &Client,
    method: &str,
    path: &str,
    header: (&str, &str),
) -> (http::response::Parts, Bytes) {
    let request = Request::builder().method(method).uri(path).header(header.0, header.1);
    let (head, body) = client.send(request.body(Full::default()).unwrap()).await.into_parts();
    (head, body.collect().await.unwrap().to_bytes())
}

async fn make(client: &Client, name: &str, tag: &str) -> Value {
    let widget = json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"tags": [tag]},
    });
    client.post(ALL, &widget).await.fine()
}

const GZIP: (&str, &str) = ("accept-encoding", "gzip");

#[tokio::test]
async fn long_answers_are_compressed_on_request() {
    let (_server, client) = widgets().await;
    for number in 0..40 {
        make(&client, &format!("w{number}"), &"x".repeat(10_000)).await;
    }
    for (path, form) in [
        (ALL, "application/json"),
        (ALL, "application/json;as=Table;g=meta.k8s.io;v=v1"),
        (ALL, "application/yaml"),
        ("/apis/example.com/v1/namespaces/default/widgets?limit=20", "application/json"),
    ] {
        let (_, plain) = ask(&client, "GET", path, ("accept", form)).await;
        let request = Request::get(path).header("accept", form).header(GZIP.0, GZIP.1);
        let answer = client.send(request.body(Full::default()).unwrap()).await;
        let is_long = plain.len() > 128 << 10;
        assert_eq!(answer.headers().get(CONTENT_ENCODING).is_some(), is_long, "{path} {form}");
        let sent = answer.into_body().collect().await.unwrap().to_bytes();
        let mut read = Vec::new();
        match is_long {
            true => drop(GzDecoder::new(&*sent).read_to_end(&mut read).unwrap()),
            false => read.extend_from_slice(&sent),
        }
        assert!(is_long || form.contains("Table"), "{} bytes of {path} {form}", plain.len());
        assert!(sent.len() < plain.len() || !is_long);
        // Tables show ages.
        assert!(read == plain || form.contains("Table"));
    }
}

#[tokio::test]
async fn a_watch_is_not_compressed() {
    let (_server, client) = widgets().await;
    make(&client, "a", &"x".repeat(200_000)).await;
    let request = Request::get(format!("{ALL}?watch=1")).header(GZIP.0, GZIP.1);
    let answer = client.send(request.body(Full::default()).unwrap()).await;
    assert!(answer.headers().get(CONTENT_ENCODING).is_none());
    let event = answer.into_body().frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&event).unwrap()["type"], "ADDED");
}

#[tokio::test]
async fn head_is_answered_without_a_body() {
    let (_server, client) = widgets().await;
    make(&client, "a", "x").await;
    let one = format!("{ALL}/a");
    let (_, body) = ask(&client, "GET", &one, GZIP).await;
    let (head, nothing) = ask(&client, "HEAD", &one, GZIP).await;
    assert_eq!((head.status.as_u16(), nothing.len()), (200, 0));
    assert_eq!(head.headers[CONTENT_LENGTH], body.len().to_string());
}

#[tokio::test]
async fn a_refusal_has_the_requested_format() {
    let (_server, client) = widgets().await;
    let none = format!("{ALL}/none");
    let (head, body) = ask(&client, "GET", &none, ("accept", "application/yaml")).await;
    assert_eq!(
        (head.status.as_u16(), &head.headers[CONTENT_TYPE]),
        (404, &"application/yaml".parse().unwrap())
    );
    assert!(String::from_utf8_lossy(&body).contains("\nreason: NotFound\n"), "{body:?}");
    let (head, _) = ask(&client, "GET", &none, ("accept", "text/html")).await;
    assert_eq!(
        (head.status.as_u16(), &head.headers[CONTENT_TYPE]),
        (406, &"application/json".parse().unwrap())
    );
}

#[tokio::test]
async fn one_object_is_watched_by_the_legacy_prefix() {
    let (_server, client) = widgets().await;
    let revision = make(&client, "a", "x").await["metadata"]["resourceVersion"].clone();
    make(&client, "b", "x").await;
    client.delete(&format!("{ALL}/b")).await.fine();
    client.delete(&format!("{ALL}/a")).await.fine();
    let path = "/apis/example.com/v1/watch/namespaces/default/widgets/a";
    let path = format!("{path}?resourceVersion={}&timeoutSeconds=1", revision.as_str().unwrap());
    let (_, events) = ask(&client, "GET", &path, GZIP).await;
    let events: Vec<Value> =
        events.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let [event] = &*events else { panic!("{events:?}") };
    assert_eq!((&event["type"], &event["object"]["metadata"]["name"]), (&json!("DELETED"), &json!("a")));
}

/// A client that sends back `managedFields` from before changes nothing, and an invalid entry is
/// ignored.
#[tokio::test]
async fn managed_fields_of_a_client_are_validated() {
    let (_server, client) = widgets().await;
    make(&client, "a", "x").await;
    let one = format!("{ALL}/a");
    let note = |managers: Value| json!({"metadata": {"managedFields": managers}});
    let kept = client.get(&one).await.fine()["metadata"]["managedFields"].clone();
    assert!(kept.is_array());
    let nonsense = note(json!([{"manager": "x", "operation": "Sideways"}]));
    assert_eq!(client.merge(&one, &nonsense).await.fine()["metadata"]["managedFields"], kept);
    let long = note(json!([{
        "manager": "x".repeat(129), "operation": "Update", "apiVersion": "example.com/v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:tags": {}}}, "time": "2026-11-21T09:30:38Z",
    }]));
    let refused = client.merge(&one, &long).await;
    assert_eq!(refused.code, 422, "{refused:?}");
    assert_eq!(refused.body["details"]["causes"][0]["field"], "metadata.managedFields[0].manager");
    let reset = client.merge(&one, &note(json!([{}]))).await.fine();
    assert_eq!(reset["metadata"]["managedFields"], Value::Null);
}
