//! Differences from kube-apiserver that unmodified clients and suites of Kubernetes found, one test
//! for each.

mod documents;
mod fields;
mod namespaces;
mod selected;
mod validation;

use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt, Full};
use serde_json::Value;

use crate::client::Client;

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const APPLY: &str = "application/apply-patch+yaml";

/// A response with its headers.
struct HttpResponse {
    code: u16,
    headers: HeaderMap,
    text: String,
}

impl HttpResponse {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    fn warnings(&self) -> Vec<&str> {
        self.headers.get_all("warning").iter().map(|value| value.to_str().unwrap()).collect()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    fn message(&self) -> String {
        self.json()["message"].as_str().unwrap().to_owned()
    }
}

async fn send(
    client: &Client,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> HttpResponse {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = client.send(request.body(Full::from(body.to_owned())).unwrap()).await;
    let (head, body) = answer.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    HttpResponse {
        code: head.status.as_u16(),
        headers: head.headers,
        text: String::from_utf8(bytes.to_vec()).unwrap(),
    }
}

async fn get(client: &Client, path: &str, headers: &[(&str, &str)]) -> HttpResponse {
    send(client, Method::GET, path, headers, "").await
}
