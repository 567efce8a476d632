//! Unknown and duplicate fields in all three strictness modes, with the words and in the order of
//! kube-apiserver.

use http::Method;
use serde_json::{Value, json};

use super::{APPLY, HttpResponse, JSON, YAML, send};
use crate::client::{Client, definition, widgets};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

fn deployment(spec: &str) -> String {
    let rest = r#""selector": {"matchLabels": {"app": "nginx"}}, "template": {"metadata": {"labels": {"app": "nginx"}},
        "spec": {"containers": [{"name": "nginx", "image": "nginx:latest"}]}}"#;
    format!(
        r#"{{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {{"name": "my-dep", "labels": {{"app": "nginx"}}}},
            "spec": {{{spec}, {rest}}}}}"#
    )
}

async fn create(client: &Client, path: &str, mode: &str, media: &str, body: &str) -> HttpResponse {
    let path = format!("{path}?fieldValidation={mode}&fieldManager=m");
    send(client, Method::POST, &path, &[("content-type", media)], body).await
}

#[tokio::test]
async fn unknown_and_duplicate_fields_of_a_typed_object_are_in_the_order_of_the_text() {
    let (_server, client) = widgets().await;
    let unknown_first = deployment(r#""unknownField": "foo", "replicas": 2, "replicas": 3"#);
    let duplicate_first = deployment(r#""replicas": 2, "replicas": 3, "unknownField": {"a": 1, "a": 2}"#);
    let (unknown, duplicate) = (r#"unknown field "spec.unknownField""#, r#"duplicate field "spec.replicas""#);
    for (body, order) in [(unknown_first, [unknown, duplicate]), (duplicate_first, [duplicate, unknown])] {
        let refused = create(&client, DEPLOYMENTS, "Strict", JSON, &body).await;
        let message = format!(
            "Deployment in version \"v1\" cannot be handled as a Deployment: strict decoding error: {}",
            order.join(", ")
        );
        assert_eq!((refused.code, refused.message()), (400, message));
        for mode in ["Warn", ""] {
            let warned = create(&client, DEPLOYMENTS, mode, JSON, &body).await;
            let warnings = order.map(|text| format!("299 - \"{}\"", text.replace('"', "\\\"")));
            assert_eq!(
                (warned.code, warned.warnings()),
                (201, warnings.each_ref().map(String::as_str).to_vec())
            );
            assert_eq!(warned.json()["spec"]["replicas"], 3);
            client.delete(&format!("{DEPLOYMENTS}/my-dep")).await.fine();
        }
        let ignored = create(&client, DEPLOYMENTS, "Ignore", JSON, &body).await;
        assert_eq!((ignored.code, ignored.warnings().len()), (201, 0));
        client.delete(&format!("{DEPLOYMENTS}/my-dep")).await.fine();
    }
}

#[tokio::test]
async fn unknown_metadata_of_a_typed_object_is_reported_where_it_stands() {
    let (_server, client) = widgets().await;
    let body = r#"{"metadata": {"name": "a", "unknownMeta": "foo", "name": "b"}, "odd": 1, "data": {"k": "1", "k": "2"}}"#;
    let refused = create(&client, "/api/v1/namespaces/default/configmaps", "Strict", JSON, body).await;
    let errors = r#"unknown field "metadata.unknownMeta", duplicate field "metadata.name", unknown field "odd", duplicate field "data.k""#;
    assert_eq!(
        refused.message(),
        format!(
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: {errors}"
        )
    );
}

/// A kind with a spec that preserves unknown fields.
fn open_kind() -> Value {
    let mut open = definition();
    open["metadata"]["name"] = "opens.example.com".into();
    open["spec"]["names"] = json!({"plural": "opens", "kind": "Open"});
    let version = &mut open["spec"]["versions"][0];
    for field in ["selectableFields", "additionalPrinterColumns"] {
        version.as_object_mut().unwrap().remove(field);
    }
    version["schema"]["openAPIV3Schema"]["properties"]["spec"] = json!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": {"foo": {"type": "string"}},
    });
    open
}

const OPENS: &str = "/apis/example.com/v1/namespaces/default/opens";

#[tokio::test]
async fn duplicate_fields_of_a_custom_object_that_preserves_unknown_ones_are_reported() {
    let (_server, client) = widgets().await;
    client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &open_kind()).await.fine();
    let json = r#"{"apiVersion": "example.com/v1", "kind": "Open", "metadata": {"name": "a"},
        "spec": {"unknown": "uk1", "foo": "foo1", "foo": "foo2"}, "top": 1}"#;
    let refused = create(&client, OPENS, "Strict", JSON, json).await;
    let head = "Open in version \"v1\" cannot be handled as a Open: strict decoding error: ";
    assert_eq!(
        (refused.code, refused.message()),
        (400, format!("{head}duplicate field \"spec.foo\", unknown field \"top\""))
    );
    let yaml = "\napiVersion: example.com/v1\nkind: Open\nmetadata:\n  name: a\nspec:\n  unknown: uk1\n  foo: foo1\n  foo: foo2\ntop: 1\n";
    let refused = create(&client, OPENS, "Strict", YAML, yaml).await;
    let lines = "yaml: unmarshal errors:\n  line 9: key \"foo\" already set in map";
    assert_eq!((refused.code, refused.message()), (400, format!("{head}{lines}, unknown field \"top\"")));
    let warned = create(&client, OPENS, "Warn", YAML, yaml).await;
    assert_eq!(
        (warned.code, warned.warnings()),
        (201, vec![r#"299 - "line 9: key \"foo\" already set in map""#, r#"299 - "unknown field \"top\"""#])
    );
    assert_eq!(warned.json()["spec"], json!({"unknown": "uk1", "foo": "foo2"}));
    client.delete(&format!("{OPENS}/a")).await.fine();
    assert!(create(&client, OPENS, "Ignore", YAML, yaml).await.warnings().is_empty());
}

#[tokio::test]
async fn an_apply_with_a_repeated_key_names_its_line() {
    let (_server, client) = widgets().await;
    client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &open_kind()).await.fine();
    let yaml = "\napiVersion: example.com/v1\nkind: Open\nmetadata:\n  name: mytest\nspec:\n  unknown: uk1\n  foo: foo1\n  foo: foo2\n  ports:\n  - name: x\n";
    let apply = async |mode: &str, body: &str| {
        let path = format!("{OPENS}/mytest?fieldManager=m&fieldValidation={mode}");
        send(&client, Method::PATCH, &path, &[("content-type", APPLY)], body).await
    };
    let refused = apply("Strict", yaml).await;
    let error =
        "error converting YAML to JSON: yaml: unmarshal errors:\n  line 9: key \"foo\" already set in map";
    assert_eq!((refused.code, refused.message()), (400, format!("error strict decoding patch: {error}")));
    assert!(refused.text.contains(r#"line 9: key \"foo\" already set in map"#), "{}", refused.text);
    // A field that cannot be applied comes first.
    let undeclared = apply("Strict", &format!("{yaml}unknownField: unknown\n")).await;
    assert!(
        undeclared.message().ends_with(".unknownField: field not declared in schema"),
        "{}",
        undeclared.text
    );
    let warned = apply("Warn", yaml).await;
    assert_eq!(
        (warned.code, warned.warnings()),
        (201, vec![r#"299 - "line 9: key \"foo\" already set in map""#])
    );
    let json = r#"{"apiVersion": "example.com/v1", "kind": "Open", "metadata": {"name": "mytest"}, "spec": {"foo": "a", "foo": "b"}}"#;
    let warned = apply("", json).await;
    assert_eq!(
        (warned.code, warned.warnings()),
        (200, vec![r#"299 - "line 1: key \"foo\" already set in map""#])
    );
    assert!(apply("Ignore", yaml).await.warnings().is_empty());
}
