//! CustomResourceDefinitions in protobuf, which the clientset of apiextensions sends and requests
//! by default. Every such request was a 400 or a 406.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use machinery_apiserver::{Body, testing};
use serde_json::{Value, json};

use crate::client::{Client, widgets};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const GADGETS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.example.com";
/// A definition as Go writes it, in both formats.
const BYTES: &[u8] = include_bytes!("../bodies/apiextensions.k8s.io.v1.CustomResourceDefinition.typical.pb");
const TEXT: &str = include_str!("../bodies/apiextensions.k8s.io.v1.CustomResourceDefinition.typical.json");

async fn send(client: &Client, method: Method, path: &str, body: impl Into<Bytes>) -> http::Response<Body> {
    let request = Request::builder().method(method).uri(path);
    let request = request.header("accept", PROTOBUF).header("content-type", PROTOBUF);
    client.send(request.body(Full::from(body.into())).unwrap()).await
}

/// Returns the bytes and the decoded object of a successful response in protobuf.
async fn fine(client: &Client, method: Method, path: &str, body: impl Into<Bytes>) -> (Bytes, Value) {
    let (head, body) = send(client, method, path, body).await.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let shown = String::from_utf8_lossy(&bytes);
    assert!(head.status.is_success(), "{path}: {} {shown}", head.status);
    assert_eq!(head.headers[CONTENT_TYPE], PROTOBUF, "{path}: {shown}");
    let object = testing::protobuf(&bytes, "", "").unwrap();
    (bytes, object)
}

/// Expects the fields of a definition that a client set.
#[track_caller]
fn has_the_spec(object: &Value) {
    let expected: Value = serde_json::from_str(TEXT).unwrap();
    assert_eq!((&object["kind"], &object["apiVersion"]), (&expected["kind"], &expected["apiVersion"]));
    let schema = "/spec/versions/0/schema/openAPIV3Schema";
    assert_eq!(object.pointer(schema).unwrap(), expected.pointer(schema).unwrap());
    for field in ["group", "scope", "names"] {
        assert_eq!(object["spec"][field], expected["spec"][field]);
    }
}

#[tokio::test]
async fn a_definition_is_written_and_read_in_protobuf() {
    let (_server, client) = widgets().await;
    let (_, made) = fine(&client, Method::POST, DEFINITIONS, BYTES).await;
    has_the_spec(&made);
    let stored = client.get(GADGETS).await.fine();
    has_the_spec(&stored);
    // The definition is in effect: its defaults have the types of the schema.
    let gadget = json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "a"}, "spec": {"color": "blue", "port": "web"}});
    let gadget = client.post("/apis/example.com/v1/namespaces/default/gadgets", &gadget).await.fine();
    let defaults = json!({"color": "blue", "port": "web", "factor": 2.5, "size": 3, "words": ["blue", "red"], "open": {"a": {"b": [1, null]}}});
    assert_eq!(gadget["spec"], defaults);

    let (bytes, read) = fine(&client, Method::GET, GADGETS, "").await;
    has_the_spec(&read);
    assert_eq!(read["status"]["acceptedNames"]["plural"], "gadgets");
    // An update without a change is none, also through the other format.
    let (_, same) = fine(&client, Method::PUT, GADGETS, bytes).await;
    assert_eq!(same["metadata"]["resourceVersion"], stored["metadata"]["resourceVersion"]);
    let (_, list) = fine(&client, Method::GET, DEFINITIONS, "").await;
    assert_eq!(list["kind"], "CustomResourceDefinitionList");
    let items = list["items"].as_array().unwrap();
    assert_eq!(items.len(), 2);
    assert_eq!(items[0]["spec"], read["spec"]);
    let (_, status) = fine(&client, Method::GET, &format!("{GADGETS}/status"), "").await;
    has_the_spec(&status);
    let (_, deleted) = fine(&client, Method::DELETE, GADGETS, "").await;
    assert_eq!(deleted["metadata"]["name"], "gadgets.example.com");
}

#[tokio::test]
async fn a_definition_equals_that_written_as_json() {
    let (_server, client) = widgets().await;
    fine(&client, Method::POST, DEFINITIONS, BYTES).await;
    let binary = client.get(GADGETS).await.fine();
    let (_other, client) = widgets().await;
    client.post(DEFINITIONS, &serde_json::from_str(TEXT).unwrap()).await.fine();
    let text = client.get(GADGETS).await.fine();
    assert_eq!(binary["spec"], text["spec"]);
    assert_eq!(binary["status"]["acceptedNames"], text["status"]["acceptedNames"]);
}

#[tokio::test]
async fn a_watch_of_definitions_is_sent_in_protobuf() {
    let (_server, client) = widgets().await;
    let path = format!("{DEFINITIONS}?watch=1&fieldSelector=metadata.name%3Dgadgets.example.com");
    let answer = send(&client, Method::GET, &path, "").await;
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()[CONTENT_TYPE], "application/vnd.kubernetes.protobuf;stream=watch");
    fine(&client, Method::POST, DEFINITIONS, BYTES).await;
    let frame = answer.into_body().frame().await.unwrap().unwrap().into_data().unwrap();
    let (length, event) = frame.split_first_chunk::<4>().unwrap();
    assert!(event.len() >= u32::from_be_bytes(*length) as usize);
    // The event's type, then its object: a body with an envelope.
    let begin = event.windows(4).position(|four| four == b"k8s\0").unwrap();
    assert_eq!(&event[..7], b"\x0a\x05ADDED");
    let object = testing::protobuf(&event[begin..u32::from_be_bytes(*length) as usize], "", "").unwrap();
    has_the_spec(&object);
}

#[tokio::test]
async fn an_invalid_definition_in_protobuf_is_refused() {
    let (_server, client) = widgets().await;
    let refused = send(&client, Method::POST, DEFINITIONS, &b"k8s\0\x0a"[..]).await;
    assert_eq!(refused.status(), 400);
    let mut spoilt = BYTES.to_vec();
    let at = spoilt.windows(10).position(|ten| ten == b"Namespaced").unwrap();
    spoilt[at] = b'M';
    let refused = send(&client, Method::POST, DEFINITIONS, spoilt).await;
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()[CONTENT_TYPE]),
        (422, &PROTOBUF.parse().unwrap())
    );
}
