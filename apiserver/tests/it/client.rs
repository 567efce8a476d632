//! A test client of the service, with JSON requests and answers.

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use machinery_apiserver::{ApiServer, Body, Identity, Service};
use machinery_store::{Memory, Options};
use serde_json::{Value, json};
use tower_service::Service as _;

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) body: Value,
}

#[derive(Clone)]
pub(crate) struct Client(Service);

/// A server in memory with a custom kind, and the administrator's client.
pub(crate) async fn widgets() -> (ApiServer, Client) {
    let server =
        ApiServer::builder(Memory::new(Options::default())).crds([definition()]).start().await.unwrap();
    let client = Client::of(&server);
    (server, client)
}

/// The definition of widgets.
pub(crate) fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "additionalPrinterColumns": [{"name": "Color", "type": "string", "jsonPath": ".spec.color"}],
                "selectableFields": [{"jsonPath": ".spec.color"}],
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {
                        "color": {"type": "string", "enum": ["red", "green", "blue"]},
                        "size": {"type": "integer", "minimum": 1, "default": 3},
                        "tags": {"type": "array", "items": {"type": "string"}},
                    }},
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                }}},
            }],
        },
    })
}

impl Client {
    /// A client of the administrator.
    pub(crate) fn of(server: &ApiServer) -> Self {
        Self(server.service(Identity::admin()))
    }

    /// A client of this service.
    pub(crate) const fn to(service: Service) -> Self {
        Self(service)
    }

    /// The same one.
    pub(crate) fn again(&self) -> Self {
        Self(self.0.clone())
    }

    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> http::Response<Body> {
        self.0.clone().call(request).await.unwrap()
    }

    /// A request with a streamed body.
    pub(crate) async fn send_any<B>(&self, request: Request<B>) -> http::Response<Body>
    where
        B: http_body::Body<Data = Bytes, Error = std::convert::Infallible> + Send + 'static,
    {
        self.0.clone().call(request).await.unwrap()
    }

    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::from(body.to_owned())).unwrap();
        let (head, body) = self.send(request).await.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::String(text));
        Answer { code: head.status.as_u16(), body }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask(Method::GET, path, &[], "").await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask(Method::POST, path, &[("content-type", "application/json")], &body.to_string()).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Answer {
        self.ask(Method::PUT, path, &[("content-type", "application/json")], &body.to_string()).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.ask(Method::DELETE, path, &[], "").await
    }

    pub(crate) async fn merge(&self, path: &str, body: &Value) -> Answer {
        let headers = [("content-type", "application/merge-patch+json")];
        self.ask(Method::PATCH, path, &headers, &body.to_string()).await
    }
}

impl Answer {
    /// Returns the body of a successful answer.
    #[track_caller]
    pub(crate) fn fine(self) -> Value {
        assert!((200..300).contains(&self.code), "{self:#?}");
        self.body
    }

    /// Returns code, reason and message of a refusal.
    pub(crate) fn refused(&self) -> (u16, &str, &str) {
        let text = |field: &str| self.body[field].as_str().unwrap_or_default();
        (self.code, text("reason"), text("message"))
    }
}
