//! Server-side apply of built-in kinds, over the wire.

use serde_json::{Value, json};

use crate::client::{Answer, Client, widgets};

async fn apply(client: &Client, path: &str, manager: &str, object: &Value) -> Answer {
    let path = format!("{path}?fieldManager={manager}");
    let headers = [("content-type", "application/apply-patch+yaml")];
    client.ask(http::Method::PATCH, &path, &headers, &object.to_string()).await
}

fn deployment(spec: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec})
}

fn dns(more: &Value) -> Value {
    let ports = json!([{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}]);
    let mut container = json!({"name": "c", "image": "i", "ports": ports});
    container.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    deployment(&json!({
        "selector": {"matchLabels": {"app": "a"}},
        "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [container]}},
    }))
}

#[tokio::test]
async fn built_in_kinds_have_the_topology_of_their_markers() {
    let (_server, client) = widgets().await;
    let path = "/apis/apps/v1/namespaces/default/deployments/a";
    let made = apply(&client, path, "one", &dns(&json!({"env": [{"name": "A", "value": "1"}]}))).await.fine();
    let container = |object: &Value| object["spec"]["template"]["spec"]["containers"][0].clone();
    assert_eq!(container(&made)["ports"].as_array().unwrap().len(), 2, "one number, two protocols");
    assert_eq!(
        apply(&client, path, "one", &dns(&json!({"env": [{"name": "A", "value": "1"}]}))).await.fine(),
        made
    );

    let also =
        json!({"template": {"spec": {"containers": [{"name": "c", "env": [{"name": "B", "value": "2"}]}]}}});
    let shared = apply(&client, path, "two", &deployment(&also)).await.fine();
    let env = json!([{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]);
    assert_eq!(container(&shared)["env"], env, "each has a variable");
    let selector = json!({"selector": {"matchLabels": {"app": "b"}}});
    let refused = apply(&client, path, "two", &deployment(&selector)).await;
    assert_eq!((refused.code, refused.refused().1), (409, "Conflict"));
    let cause = &refused.body["details"]["causes"][0];
    assert_eq!(
        (&cause["field"], &cause["reason"]),
        (&json!(".spec.selector"), &json!("FieldManagerConflict"))
    );

    let left = apply(&client, path, "one", &dns(&json!({}))).await.fine();
    assert_eq!(container(&left)["env"], json!([{"name": "B", "value": "2"}]), "and takes one's own away");
}

#[tokio::test]
async fn a_definition_is_applied_and_served() {
    let (_server, client) = widgets().await;
    let mut definition = crate::client::definition();
    definition["metadata"]["name"] = "gadgets.example.com".into();
    definition["spec"]["names"] =
        json!({"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"});
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.example.com";
    let made = apply(&client, path, "one", &definition).await.fine();
    let again = apply(&client, path, "one", &definition).await.fine();
    assert_eq!(made["metadata"]["generation"], again["metadata"]["generation"]);
    client.get("/apis/example.com/v1/namespaces/default/gadgets").await.fine();
}

#[tokio::test]
async fn applying_a_scale_owns_the_replicas() {
    let (_server, client) = widgets().await;
    let path = "/apis/apps/v1/namespaces/default/deployments/a";
    let mut whole = dns(&json!({}));
    whole["spec"]["replicas"] = 3.into();
    apply(&client, path, "one", &whole).await.fine();
    let scale = |spec: Value| json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": spec});
    let path_of_scale = format!("{path}/scale");
    let refused = apply(&client, &path_of_scale, "two", &scale(json!({"replicas": 5}))).await;
    let why = "Apply failed with 1 conflict: conflict with \"one\": .spec.replicas";
    assert_eq!(refused.refused(), (409, "Conflict", why));
    let forced = format!("{path_of_scale}?force=true&fieldManager=two");
    let headers = [("content-type", "application/apply-patch+yaml")];
    let body = scale(json!({"replicas": 5})).to_string();
    let scaled = client.ask(http::Method::PATCH, &forced, &headers, &body).await.fine();
    assert_eq!((&scaled["kind"], &scaled["spec"]["replicas"]), (&json!("Scale"), &json!(5)));

    let owners = |object: &Value| {
        let entries = object["metadata"]["managedFields"].as_array().unwrap().clone();
        let owns = |entry: &&Value| entry["fieldsV1"]["f:spec"]["f:replicas"].is_object();
        let owners = entries.iter().filter(owns);
        owners.map(|entry| (entry["manager"].clone(), entry["subresource"].clone())).collect::<Vec<_>>()
    };
    let there = client.get(path).await.fine();
    assert_eq!(
        (&there["spec"]["replicas"], owners(&there)),
        (&json!(5), vec![("two".into(), "scale".into())])
    );
    let again = client.ask(http::Method::PATCH, &forced, &headers, &body).await.fine();
    assert_eq!(again, scaled, "what is applied again changes nothing");
    apply(&client, path, "one", &dns(&json!({}))).await.fine();
    assert_eq!(client.get(path).await.fine()["spec"]["replicas"], 5, "one had it no more");

    let given_up = apply(&client, &path_of_scale, "two", &scale(json!({}))).await.fine();
    assert_eq!(given_up["spec"]["replicas"], 5, "who gives it up does not end everything");
    assert_eq!(owners(&client.get(path).await.fine()), []);
}

/// They were dropped with all other empty metadata, so that ownership was not reset.
#[tokio::test]
async fn empty_managed_fields_reset_ownership_of_a_built_in_kind() {
    let (_server, client) = widgets().await;
    let path = "/api/v1/namespaces/default/configmaps/a";
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
    let headers = [("content-type", "application/merge-patch+json")];
    let none = json!({"metadata": {"managedFields": []}}).to_string();
    let tracked = apply(&client, path, "one", &map).await.fine();
    assert_eq!(tracked["metadata"]["managedFields"].as_array().map(Vec::len), Some(1));
    let reset = client.ask(http::Method::PATCH, path, &headers, &none).await.fine();
    assert_eq!(reset["metadata"].get("managedFields"), None);

    let mut again = apply(&client, path, "one", &map).await.fine();
    again["metadata"]["managedFields"] = json!([]);
    let reset = client.ask(http::Method::PUT, path, &[], &again.to_string()).await.fine();
    assert_eq!(reset["metadata"].get("managedFields"), None, "in whatever is sent");
    assert_eq!(client.get(path).await.fine(), reset);
}

/// Ownership of an Event's field that the other group calls otherwise was not moved.
#[tokio::test]
async fn events_have_the_same_owners_in_both_groups() {
    let (_server, client) = widgets().await;
    let (core, new) =
        ("/api/v1/namespaces/default/events", "/apis/events.k8s.io/v1/namespaces/default/events/e");
    let event = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"},
        "regarding": {"kind": "Pod", "namespace": "default", "name": "p"},
        "note": "n", "reason": "R", "type": "Normal", "action": "A", "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "example.com/c", "reportingInstance": "i",
    });
    let owners = |object: &Value| {
        let entries = object["metadata"]["managedFields"].as_array().unwrap().clone();
        let owns =
            |entry: &&Value| entry["fieldsV1"].get("f:message").or(entry["fieldsV1"].get("f:note")).is_some();
        entries.iter().filter(owns).map(|entry| entry["manager"].clone()).collect::<Vec<_>>()
    };
    let events = new.strip_suffix("/e").unwrap();
    let noted = client.post(&format!("{events}?fieldManager=two"), &event).await.fine();
    assert_eq!(owners(&noted), ["two"]);
    let path = format!("{core}/e");
    let labelled =
        client.merge(&format!("{path}?fieldManager=one"), &json!({"metadata": {"labels": {"a": "b"}}})).await;
    assert_eq!(owners(&labelled.fine()), ["two"]);
    let said = client.merge(&format!("{path}?fieldManager=one"), &json!({"message": "o"})).await.fine();
    assert_eq!(owners(&said), ["one"]);
}
