//! Changes of objects by mutating webhooks.

use serde_json::{Value, json};

use super::hook::{Hook, configure, mutating, patched, validating, webhook};
use super::{WIDGETS, widget};
use crate::client::{Client, widgets};
use machinery_apiserver::ApiServer;
use machinery_store::{Memory, Options};

#[tokio::test]
async fn a_mutated_object_is_validated_by_the_schema_and_stored() {
    let hook = Hook::new(|_, review| {
        let request = &review["request"];
        match request["name"].as_str().unwrap() {
            "wrong" => patched(&json!([{"op": "add", "path": "/spec/color", "value": "none"}])),
            "typed" => patched(&json!([{"op": "replace", "path": "/spec", "value": 7}])),
            "empty" => patched(&json!([])),
            _ => patched(&json!([
                {"op": "add", "path": "/spec/color", "value": "green"},
                {"op": "add", "path": "/spec/unknown", "value": 1},
                {"op": "remove", "path": "/spec/size"},
                {"op": "add", "path": "/metadata/labels", "value": {"by": "hook"}},
            ])),
        }
    })
    .await;
    let judge = Hook::allowing().await;
    let (_server, client) = widgets().await;
    configure(&client, &mutating("all", &[webhook("makes", &hook.at("/"), &json!({}))])).await;
    configure(&client, &validating("all", &[webhook("judges", &judge.at("/"), &json!({}))])).await;
    let made = client.post(WIDGETS, &widget("a", &json!({"size": 9}))).await.fine();
    // Unknown fields are pruned, and defaults filled in.
    assert_eq!(made["spec"], json!({"color": "green", "size": 3}));
    assert_eq!(made["metadata"]["labels"], json!({"by": "hook"}));
    assert_eq!(client.get(&format!("{WIDGETS}/a")).await.fine(), made);
    assert_eq!(hook.seen()[0]["object"]["spec"], json!({"size": 9}), "it is asked before");
    let mut judged = judge.seen()[0]["object"].clone();
    judged["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"].clone();
    assert_eq!(judged, made, "and who judges sees what is stored");

    let refused = client.post(WIDGETS, &widget("wrong", &json!({}))).await;
    assert_eq!((refused.code, refused.refused().1), (422, "Invalid"), "{refused:?}");
    let refused = client.post(WIDGETS, &widget("typed", &json!({}))).await;
    assert_eq!((refused.code, refused.refused().1), (422, "Invalid"), "{refused:?}");
    assert_eq!(judge.seen().len(), 1, "what is wrong is judged by nobody");
    let made = client.post(WIDGETS, &widget("empty", &json!({"size": 9}))).await.fine();
    assert_eq!(made["spec"], json!({"size": 9}));
}

#[tokio::test]
async fn an_inapplicable_patch_is_an_error_under_any_failure_policy() {
    let hook = Hook::patching(json!([{"op": "remove", "path": "/spec/nothing"}])).await;
    for path in ["/"] {
        let (_server, client) = widgets().await;
        let ignored = json!({"failurePolicy": "Ignore"});
        configure(&client, &mutating("all", &[webhook("makes", &hook.at(path), &ignored)])).await;
        let refused = client.post(WIDGETS, &widget("a", &json!({}))).await;
        assert_eq!((refused.code, refused.refused().1), (500, "InternalError"), "{path}: {refused:?}");
        assert_eq!(client.get(&format!("{WIDGETS}/a")).await.code, 404);
    }
}

#[tokio::test]
async fn webhooks_are_called_in_order_and_reinvoked_if_needed() {
    let hook = Hook::new(|path, review| {
        let name = path.split('?').next().unwrap().trim_start_matches('/').to_owned();
        let tags = &review["request"]["object"]["spec"]["tags"];
        match tags.as_array() {
            None => patched(&json!([{"op": "add", "path": "/spec/tags", "value": [name]}])),
            Some(_) => patched(&json!([{"op": "add", "path": "/spec/tags/-", "value": name}])),
        }
    })
    .await;
    let (_server, client) = widgets().await;
    let one = |name: &str, policy: &str| {
        webhook(name, &hook.at(&format!("/{name}")), &json!({"reinvocationPolicy": policy}))
    };
    // In the order of configuration names, whichever was created first; and then in the order of
    // the configuration.
    configure(&client, &mutating("b", &[one("c", "IfNeeded")])).await;
    configure(&client, &mutating("a", &[one("b", "IfNeeded"), one("a", "Never")])).await;
    let made = client.post(WIDGETS, &widget("a", &json!({}))).await.fine();
    assert_eq!(made["spec"]["tags"], json!(["b", "a", "c", "b"]));
}

#[tokio::test]
async fn a_patch_on_deletion_is_an_error() {
    let hook = Hook::patching(json!([{"op": "add", "path": "/spec", "value": {}}])).await;
    let (_server, client) = widgets().await;
    client.post(WIDGETS, &widget("a", &json!({}))).await.fine();
    configure(&client, &mutating("all", &[webhook("makes", &hook.at("/"), &json!({}))])).await;
    let refused = client.delete(&format!("{WIDGETS}/a")).await;
    let why = "Internal error occurred: admission webhook \"makes.example.com\" attempted to modify the object, which is \
               not supported for this operation";
    assert_eq!(refused.refused(), (500, "InternalError", why));
    client.get(&format!("{WIDGETS}/a")).await.fine();
}

#[tokio::test]
async fn a_webhook_may_change_the_replicas_of_a_scale() {
    let hook = Hook::new(|_, review| match review["request"]["subResource"] == "scale" {
        true => patched(&json!([{"op": "replace", "path": "/spec/replicas", "value": 2}])),
        false => patched(&json!([{"op": "add", "path": "/status", "value": {"phase": "made"}}])),
    })
    .await;
    let mut definition = crate::client::definition();
    definition["spec"]["versions"][0]["subresources"]["scale"] =
        json!({"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"});
    let server =
        ApiServer::builder(Memory::new(Options::default())).crds([definition]).start().await.unwrap();
    let client = Client::of(&server);
    client.post(WIDGETS, &widget("a", &json!({"color": "red"}))).await.fine();
    configure(&client, &mutating("all", &[webhook("makes", &hook.at("/"), &json!({}))])).await;
    let scaled = client.merge(&format!("{WIDGETS}/a/scale"), &json!({"spec": {"replicas": 7}})).await.fine();
    assert_eq!(scaled["spec"]["replicas"], 2);
    let there = client.get(&format!("{WIDGETS}/a")).await.fine();
    assert_eq!(there["spec"], json!({"color": "red", "size": 2}));
    // A status that is apart is not made on the way to something else.
    let changed = client.merge(&format!("{WIDGETS}/a"), &json!({"spec": {"color": "blue"}})).await.fine();
    assert_eq!(changed.get("status"), None::<&Value>);
    let marked =
        client.merge(&format!("{WIDGETS}/a/status"), &json!({"status": {"phase": "sent"}})).await.fine();
    assert_eq!(marked["status"], json!({"phase": "made"}));
}

#[tokio::test]
async fn fields_set_by_a_webhook_have_no_field_manager() {
    let hook = Hook::new(|_, review| {
        let mut made = json!([{"op": "add", "path": "/spec/color", "value": "green"}]);
        if review["request"]["object"]["spec"]["size"] == 9 {
            let unread =
                json!({"op": "replace", "path": "/metadata/managedFields", "value": [{"manager": "x"}]});
            made.as_array_mut().unwrap().push(unread);
        }
        patched(&made)
    })
    .await;
    let (_server, client) = widgets().await;
    configure(&client, &mutating("all", &[webhook("makes", &hook.at("/"), &json!({}))])).await;
    let owned = |object: &Value| {
        let entries = object["metadata"]["managedFields"].as_array().unwrap();
        let one = |entry: &Value| (entry["manager"].clone(), entry["fieldsV1"]["f:spec"].clone());
        entries.iter().map(one).collect::<Vec<_>>()
    };
    let made = client
        .post(&format!("{WIDGETS}?fieldManager=one"), &widget("a", &json!({"tags": ["x"]})))
        .await
        .fine();
    assert_eq!((&made["spec"]["color"], &made["spec"]["size"]), (&json!("green"), &json!(3)));
    // Defaults are filled in before admission, and belong to the writer.
    let first = json!({".": {}, "f:size": {}, "f:tags": {}});
    assert_eq!(owned(&made), [("one".into(), first.clone())]);
    let seen = hook.seen()[0]["object"].clone();
    assert_eq!(owned(&seen), owned(&made), "who is asked is told");

    let path = format!("{WIDGETS}/a?fieldManager=two");
    let changed = client.merge(&path, &json!({"spec": {"color": "red", "size": 9}})).await.fine();
    assert_eq!(changed["spec"]["color"], "green");
    let kept = json!({".": {}, "f:tags": {}});
    let theirs = json!({"f:color": {}, "f:size": {}});
    assert_eq!(
        owned(&changed),
        [("one".into(), kept), ("two".into(), theirs)],
        "what cannot be read is as before"
    );

    let mine = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "b"}, "spec": {"size": 1}});
    let path = format!("{WIDGETS}/b?fieldManager=one");
    let apply = [("content-type", "application/apply-patch+yaml")];
    for _ in 0..2 {
        let applied = client.ask(http::Method::PATCH, &path, &apply, &mine.to_string()).await.fine();
        assert_eq!(applied["spec"]["color"], "green");
        assert_eq!(owned(&applied), [("one".into(), json!({"f:size": {}}))]);
    }
}
