//! The limit of nesting.

use http::Method;
use machinery_apiserver::ApiServer;
use machinery_store::{Memory, Options};
use serde_json::{Value, json};

use crate::client::Client;

const ALL: &str = "/apis/example.com/v1/namespaces/default/boxes";
const ONE: &str = "/apis/example.com/v1/namespaces/default/boxes/a";

/// A server with a kind without a schema.
async fn boxes() -> (ApiServer, Client) {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "boxes.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "boxes", "kind": "Box"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            }}}],
        },
    });
    let builder = ApiServer::builder(Memory::new(Options::default())).crds([definition]);
    let server = builder.start().await.unwrap();
    let client = Client::of(&server);
    (server, client)
}

/// A box with that many levels; its finalizer is for later steps.
fn nested(depth: usize) -> Value {
    let inner = (2..depth).fold(json!({}), |inner, _| json!({"a": inner}));
    json!({"apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": "a", "finalizers": ["example.com/x"]}, "spec": inner})
}

/// The limit for stored objects was one level above that of the decoder, and managedFields are
/// deeper than their fields. A box of 123 levels could be created, and not be changed, deleted or
/// listed as a table afterwards.
#[tokio::test]
async fn accepted_objects_of_any_depth_can_be_read_changed_and_deleted() {
    let (_server, client) = boxes().await;
    let json = &("content-type", "application/json");
    let apply = &("content-type", "application/apply-patch+yaml");
    let merge = &("content-type", "application/merge-patch+json");
    let patch = &("content-type", "application/json-patch+json");
    let (mut taken, mut refused) = (0, 0);
    for depth in 110..=128 {
        let deep = nested(depth);
        let add = json!([{"op": "add", "path": "/spec", "value": deep["spec"]}]);
        let put = |ways: &mut Vec<_>, method: Method, path: &str, with, body: Value| {
            ways.push((method, path.to_owned(), with, body.to_string()));
        };
        let mut ways = Vec::new();
        put(&mut ways, Method::POST, ALL, json, deep.clone());
        put(&mut ways, Method::PUT, ONE, json, deep.clone());
        put(&mut ways, Method::PATCH, ONE, merge, json!({"spec": deep["spec"]}));
        put(&mut ways, Method::PATCH, ONE, patch, add);
        put(&mut ways, Method::PATCH, &format!("{ONE}?fieldManager=x"), apply, deep.clone());
        for (method, path, with, body) in ways {
            let mut body = body;
            let is_new = method == Method::POST || path.contains("fieldManager");
            if !is_new {
                let there = client.post(ALL, &nested(4)).await.fine();
                if method == Method::PUT {
                    let mut whole = deep.clone();
                    whole["metadata"]["resourceVersion"] = there["metadata"]["resourceVersion"].clone();
                    body = whole.to_string();
                }
            }
            let answer = client.ask(method.clone(), &path, &[*with], &body).await;
            match answer.code {
                200 | 201 => taken += 1,
                400 => refused += 1,
                _ => panic!("{method} {depth}: {answer:#?}"),
            }
            if is_new && answer.code == 400 {
                continue;
            }
            let all =
                ["", ";as=Table;v=v1;g=meta.k8s.io", ";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"];
            for form in all {
                let accept = format!("application/json{form}");
                let list = client.ask(Method::GET, ALL, &[("accept", &*accept)], "").await.fine();
                assert!(list["items"].is_array() || list["rows"].is_array(), "{depth}: {list}");
            }
            let yaml = client.ask(Method::GET, ALL, &[("accept", "application/yaml")], "").await;
            assert_eq!(yaml.code, 200, "{depth}");
            let one = client.get(ONE).await.fine();
            let put = client.put(ONE, &one).await;
            assert_eq!(put.code, 200, "{depth}: {put:#?}");
            client.merge(ONE, &json!({"metadata": {"labels": {"x": "y"}}})).await.fine();
            client.delete(ONE).await.fine();
            client.merge(ONE, &json!({"metadata": {"finalizers": null}})).await.fine();
            assert_eq!(client.get(ONE).await.code, 404);
        }
    }
    assert!(taken > 30 && refused > 30, "{taken} were taken and {refused} refused");
}
