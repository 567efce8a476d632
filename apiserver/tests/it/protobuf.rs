//! Responses and watch events in protobuf. Their bytes are compared with Go's in the tests of
//! `protobuf`.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use machinery_apiserver::{ApiServer, Body, testing};
use machinery_store::{Memory, Options};
use serde_json::{Value, json};

use crate::client::{Client, widgets};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const CONFIGS: &str = "/api/v1/namespaces/default/configmaps";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

fn metadata(list: &str) -> String {
    format!("{PROTOBUF};as=PartialObjectMetadata{list};g=meta.k8s.io;v=v1")
}

struct Asks<'a>(Method, &'a str, &'a str, Value);

async fn send(
    client: &Client,
    accept: &str,
    Asks(method, path, media, body): Asks<'_>,
) -> http::Response<Body> {
    let request = Request::builder().method(method).uri(path).header("accept", accept);
    let request = if media.is_empty() { request } else { request.header("content-type", media) };
    let body = if body.is_null() { Full::default() } else { Full::from(body.to_string()) };
    client.send(request.body(body).unwrap()).await
}

/// Returns the code, the content type, and the decoded body.
async fn said(client: &Client, accept: &str, request: Asks<'_>) -> (u16, String, Value) {
    let (head, body) = send(client, accept, request).await.into_parts();
    let form = head.headers[CONTENT_TYPE].to_str().unwrap().to_owned();
    let bytes = body.collect().await.unwrap().to_bytes();
    let value = if form == PROTOBUF {
        assert!(bytes.starts_with(b"k8s\0"), "{bytes:?}");
        testing::protobuf(&bytes, "", "").unwrap()
    } else {
        serde_json::from_slice(&bytes).unwrap()
    };
    (head.status.as_u16(), form, value)
}

fn get(path: &str) -> Asks<'_> {
    Asks(Method::GET, path, "", Value::Null)
}

/// Expects all JSON fields in the decoded object; Go also writes zeros.
#[track_caller]
fn says_all_of(found: &Value, json: &Value) {
    match (found, json) {
        (Value::Object(found), Value::Object(json)) => {
            for (name, value) in json {
                says_all_of(found.get(name).unwrap_or_else(|| panic!("no {name} in {found:?}")), value);
            }
        }
        (Value::Array(found), Value::Array(json)) => {
            assert_eq!(found.len(), json.len());
            found.iter().zip(json).for_each(|(found, json)| says_all_of(found, json));
        }
        _ => assert_eq!(found, json),
    }
}

async fn make(client: &Client, name: &str) -> Value {
    let config = json!({"metadata": {"name": name, "labels": {"b": "1", "a": "2"}}, "data": {"k": "v"}});
    client.post(CONFIGS, &config).await.fine()
}

#[tokio::test]
async fn built_in_kinds_are_returned_in_protobuf_on_request() {
    let (_server, client) = widgets().await;
    let one = format!("{CONFIGS}/a");
    let both = format!("{PROTOBUF},application/json");
    let new = json!({"metadata": {"name": "a", "labels": {"b": "1", "a": "2"}}, "data": {"k": "v"}});
    let (code, form, made) = said(&client, &both, Asks(Method::POST, CONFIGS, "application/json", new)).await;
    assert_eq!((code, &*form, &made["kind"]), (201, PROTOBUF, &json!("ConfigMap")));

    for path in
        [&*one, CONFIGS, "/api/v1/configmaps?limit=1", "/api/v1/namespaces/default", "/api/v1/namespaces"]
    {
        let (code, form, found) = said(&client, PROTOBUF, get(path)).await;
        assert_eq!((code, &*form), (200, PROTOBUF), "{path}");
        let json = client.get(path).await.fine();
        says_all_of(&found, &json);
    }
    // A client that does not request protobuf, or prefers another type, gets JSON.
    for accept in ["*/*", "application/json", "application/vnd.kubernetes.protobuf;q=0.5,application/json"] {
        assert_eq!(said(&client, accept, get(&one)).await.1, "application/json", "{accept}");
    }
    let merge = "application/merge-patch+json";
    let patched =
        said(&client, PROTOBUF, Asks(Method::PATCH, &one, merge, json!({"data": {"l": "w"}}))).await;
    assert_eq!((patched.0, &*patched.1, &patched.2["data"]), (200, PROTOBUF, &json!({"k": "v", "l": "w"})));
    let put = json!({"metadata": {"name": "a"}, "data": {"m": "x"}});
    let put = said(&client, PROTOBUF, Asks(Method::PUT, &one, "application/json", put)).await;
    assert_eq!((put.0, &*put.1, &put.2["data"]), (200, PROTOBUF, &json!({"m": "x"})));
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let review = said(&client, PROTOBUF, Asks(Method::POST, path, "application/json", review)).await;
    assert_eq!((review.0, &*review.1), (201, PROTOBUF));
    assert!(review.2["status"]["userInfo"]["username"].is_string(), "{review:?}");

    let deleted = said(&client, PROTOBUF, Asks(Method::DELETE, &one, "", Value::Null)).await;
    assert_eq!((deleted.0, &*deleted.1, &deleted.2["status"]), (200, PROTOBUF, &json!("Success")));
    let refused = said(&client, PROTOBUF, get(&one)).await;
    assert_eq!((refused.0, &*refused.1), (404, PROTOBUF));
    assert_eq!((&refused.2["reason"], &refused.2["details"]["name"]), (&json!("NotFound"), &json!("a")));
    let collection = said(&client, PROTOBUF, Asks(Method::DELETE, CONFIGS, "", Value::Null)).await;
    assert_eq!(
        (collection.0, &*collection.1, &collection.2["kind"]),
        (200, PROTOBUF, &json!("ConfigMapList"))
    );
    // Documents have no messages, and tables have none.
    let table = format!("{PROTOBUF};as=Table;g=meta.k8s.io;v=v1");
    assert_eq!(said(&client, &table, get(CONFIGS)).await.0, 406);
    for path in ["/api", "/apis", "/api/v1", "/version"] {
        assert_eq!(said(&client, &both, get(path)).await.1, "application/json", "{path}");
    }
}

#[tokio::test]
async fn metadata_of_custom_resources_is_returned_in_protobuf() {
    let (_server, client) = widgets().await;
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a", "labels": {"x": "y"}}, "spec": {"color": "red"}});
    client.post(WIDGETS, &widget).await.fine();
    make(&client, "a").await;
    for all in [WIDGETS, CONFIGS, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"] {
        let json = client.get(all).await.fine();
        let item = &json["items"][0]["metadata"];
        let one = format!("{all}/{}", item["name"].as_str().unwrap());
        let (code, form, found) = said(&client, &metadata(""), get(&one)).await;
        assert_eq!((code, &*form, &found["kind"]), (200, PROTOBUF, &json!("PartialObjectMetadata")), "{all}");
        assert_eq!(found.as_object().unwrap().len(), 3);
        says_all_of(&found["metadata"], item);
        let (code, form, list) = said(&client, &metadata("List"), get(all)).await;
        assert_eq!((code, &*form, &list["kind"]), (200, PROTOBUF, &json!("PartialObjectMetadataList")));
        says_all_of(&list["items"][0]["metadata"], item);
        assert_eq!(list["metadata"]["resourceVersion"], json["metadata"]["resourceVersion"]);
        let old = metadata("List").replace("v=v1", "v=v1beta1");
        let bytes = send(&client, &old, get(all)).await.into_body().collect().await.unwrap().to_bytes();
        assert!(
            bytes.starts_with(b"k8s\0\x0a\x30\x0a\x13meta.k8s.io/v1beta1\x12\x19PartialObjectMetadataList"),
            "{bytes:?}"
        );
        assert_eq!(said(&client, &metadata(""), get(all)).await.0, 406);
    }
    let one = format!("{WIDGETS}/a");
    let patch = Asks(
        Method::PATCH,
        &one,
        "application/merge-patch+json",
        json!({"metadata": {"labels": {"z": "1"}}}),
    );
    let (code, form, patched) = said(&client, &metadata(""), patch).await;
    assert_eq!((code, &*form, &patched["metadata"]["labels"]), (200, PROTOBUF, &json!({"x": "y", "z": "1"})));
    let (code, form, refused) = said(&client, PROTOBUF, get(&one)).await;
    assert_eq!((code, &*form, &refused["reason"]), (406, PROTOBUF, &json!("NotAcceptable")));
    let both = format!("{PROTOBUF},application/json");
    assert_eq!(said(&client, &both, get(&one)).await.1, "application/json");
    let (code, _, deleted) = said(&client, &metadata(""), Asks(Method::DELETE, &one, "", Value::Null)).await;
    assert_eq!((code, &deleted["kind"], &deleted["status"]), (200, &json!("Status"), &json!("Success")));
}

/// A message longer than the buffer kept while measuring it.
#[tokio::test]
async fn a_long_list_in_protobuf_is_streamed() {
    let (_server, client) = widgets().await;
    for number in 0..30 {
        let config = json!({"metadata": {"name": format!("c{number}")}, "data": {"k": "x".repeat(100_000)}});
        client.post(CONFIGS, &config).await.fine();
    }
    let answer = send(&client, PROTOBUF, get(CONFIGS)).await;
    assert_eq!(format!("{:?}", answer.body()), "Body::Parts");
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    says_all_of(&testing::protobuf(&bytes, "", "").unwrap(), &client.get(CONFIGS).await.fine());
    let few = send(&client, PROTOBUF, get(&format!("{CONFIGS}?limit=3"))).await;
    assert_eq!(format!("{:?}", few.body()), "Body::Whole");
}

struct EventFrames {
    body: Body,
    read: Vec<u8>,
}

impl EventFrames {
    async fn of(client: &Client, accept: &str, path: &str) -> Self {
        let answer = send(client, accept, get(path)).await;
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()[CONTENT_TYPE], "application/vnd.kubernetes.protobuf;stream=watch");
        Self { body: answer.into_body(), read: Vec::new() }
    }

    async fn more(&mut self) -> Option<Bytes> {
        self.body.frame().await.map(|frame| frame.unwrap().into_data().unwrap())
    }

    /// Reads the next event: four bytes of length, and a message without an envelope whose object
    /// is in one.
    async fn next(&mut self) -> (String, Value) {
        loop {
            if let Some((length, rest)) = self.read.split_first_chunk::<4>() {
                let length = u32::from_be_bytes(*length) as usize;
                if rest.len() >= length {
                    let event: Vec<u8> = self.read.drain(..4 + length).skip(4).collect();
                    return read_event(&event);
                }
            }
            let more = self.more().await.expect("another event");
            self.read.extend_from_slice(&more);
        }
    }
}

fn read_event(message: &[u8]) -> (String, Value) {
    let mut body = b"k8s\0\x12".to_vec();
    let mut length = message.len();
    while length >= 0x80 {
        body.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    body.push(length as u8);
    body.extend_from_slice(message);
    let mut event = testing::protobuf(&body, "v1", "WatchEvent").unwrap();
    (event["type"].as_str().unwrap().to_owned(), event["object"].take())
}

#[tokio::test]
async fn a_watch_in_protobuf_is_framed_by_lengths() {
    let (_server, client) = widgets().await;
    make(&client, "a").await;
    let begin = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut events = EventFrames::of(&client, PROTOBUF, &format!("{CONFIGS}?{begin}")).await;
    let (kind, object) = events.next().await;
    assert_eq!(kind, "ADDED");
    says_all_of(&object, &client.get(&format!("{CONFIGS}/a")).await.fine());
    let (kind, mark) = events.next().await;
    assert_eq!((&*kind, &mark["kind"]), ("BOOKMARK", &json!("ConfigMap")));
    assert_eq!(mark["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    let changed = client.merge(&format!("{CONFIGS}/a"), &json!({"data": {"k": "w"}})).await.fine();
    let (kind, object) = events.next().await;
    assert_eq!(kind, "MODIFIED");
    says_all_of(&object, &changed);
    client.delete(&format!("{CONFIGS}/a")).await.fine();
    let (kind, object) = events.next().await;
    assert_eq!((&*kind, &object["data"]["k"]), ("DELETED", &json!("w")));

    let mut events = EventFrames::of(&client, &metadata(""), &format!("{WIDGETS}?{begin}")).await;
    assert_eq!(events.next().await.1["kind"], "PartialObjectMetadata");
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "b"}, "spec": {"color": "red"}});
    let made = client.post(WIDGETS, &widget).await.fine();
    let (kind, object) = events.next().await;
    assert_eq!(
        (&*kind, &object["kind"], &object["apiVersion"]),
        ("ADDED", &json!("PartialObjectMetadata"), &json!("meta.k8s.io/v1"))
    );
    says_all_of(&object["metadata"], &made["metadata"]);
    assert!(object.get("spec").is_none());
    let (code, ..) =
        said(&client, &format!("{PROTOBUF};stream=watch"), get(&format!("{WIDGETS}?watch=1"))).await;
    assert_eq!(code, 406);
}

/// An error of a running watch is an event in the stream's format.
#[tokio::test]
async fn an_error_of_a_watch_in_protobuf_is_an_event() {
    let (_server, client) = widgets().await;
    make(&client, "a").await;
    let ahead = format!(
        "{CONFIGS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=999999"
    );
    let mut events = EventFrames::of(&client, PROTOBUF, &ahead).await;
    let (kind, status) = events.next().await;
    assert_eq!((&*kind, &status["kind"], &status["apiVersion"]), ("ERROR", &json!("Status"), &json!("v1")));
    assert_eq!(
        (&status["code"], &status["details"]["causes"][0]["reason"]),
        (&json!(504), &json!("ResourceVersionTooLarge"))
    );
    assert!(events.more().await.is_none());
}

#[tokio::test]
async fn the_v2_openapi_document_is_served_in_protobuf() {
    const PATH: &str = "/openapi/v2";
    const ANSWERED: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    let (_server, client) = widgets().await;
    let json = client.get(PATH).await.fine();
    let old = ANSWERED.replace("v2.v1.0", "v2@v1.0");
    for (accept, form) in [
        (ANSWERED.to_owned(), ANSWERED),
        (old.clone(), ANSWERED),
        (format!("{old},application/json;q=0.5"), ANSWERED),
        (format!("{old};q=0.5,application/json"), "application/json"),
        ("*/*".to_owned(), "application/json"),
    ] {
        let (head, body) = send(&client, &accept, get(PATH)).await.into_parts();
        assert_eq!(
            (head.status.as_u16(), &head.headers[CONTENT_TYPE], &head.headers["vary"]),
            (200, &form.parse().unwrap(), &"Accept".parse().unwrap())
        );
        let bytes = body.collect().await.unwrap().to_bytes();
        if form != ANSWERED {
            continue;
        }
        assert!(bytes.starts_with(b"\x0a\x032.0\x12"));
        let text = String::from_utf8_lossy(&bytes);
        // All names of paths and definitions are in the document.
        let names =
            json["paths"].as_object().unwrap().keys().chain(json["definitions"].as_object().unwrap().keys());
        names.for_each(|name| assert!(text.contains(name.as_str()), "{name}"));
        assert!(text.contains("x-kubernetes-group-version-kind") && text.contains("fieldValidation"));
        let known =
            Request::get(PATH).header("accept", &accept).header("if-none-match", &head.headers["etag"]);
        assert_eq!(client.send(known.body(Full::default()).unwrap()).await.status(), 304);
    }
    assert_eq!(send(&client, "application/yaml", get(PATH)).await.status(), 406);
    // Of the newer documents there is JSON only.
    assert_eq!(send(&client, ANSWERED, get("/openapi/v3")).await.status(), 406);
}

/// A `Scale` is a built-in kind for any resource. That of a custom resource was accepted in
/// protobuf, but not returned in it.
#[tokio::test]
async fn a_scale_is_returned_in_protobuf_for_any_resource() {
    let mut definition = crate::client::definition();
    definition["spec"]["versions"][0]["subresources"]["scale"] =
        json!({"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"});
    let builder = ApiServer::builder(Memory::new(Options::default())).crds([definition]);
    let server = builder.start().await.unwrap();
    let client = Client::of(&server);
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 2}});
    client.post(WIDGETS, &widget).await.fine();
    let path = format!("{WIDGETS}/a/scale");
    let four = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 4}});
    let wants = |replicas: u64| json!({"spec": {"replicas": replicas}});
    let applied = format!("{path}?fieldManager=m&force=true");
    for (request, expected) in [
        (get(&path), 2),
        (Asks(Method::PATCH, &path, "application/merge-patch+json", wants(3)), 3),
        (Asks(Method::PUT, &path, "application/json", four.clone()), 4),
        (Asks(Method::PATCH, &applied, "application/apply-patch+yaml", four), 4),
    ] {
        let (code, form, scale) = said(&client, PROTOBUF, request).await;
        assert_eq!((code, &*form, &scale["kind"]), (200, PROTOBUF, &json!("Scale")));
        assert_eq!(scale["spec"]["replicas"], expected);
    }
}
