//! Configurations of webhooks.

use machinery_apiserver::{ApiServer, Identity};
use machinery_objects::{Deletion, Kind, ObjectKey, Scope, Writer};
use machinery_store::{Memory, Options};
use serde_json::{Value, json};

use super::hook::{GROUP, Hook, Reply, configure, mutating, validating, webhook};
use super::{WIDGETS, widget};
use crate::client::{Client, definition, widgets};

#[tokio::test]
async fn a_configuration_is_defaulted_and_returned() {
    let (_server, client) = widgets().await;
    let service = json!({"service": {"name": "a", "namespace": "b"}});
    let hook = json!({
        "name": "a.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "clientConfig": service,
        "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}],
    });
    let made = configure(&client, &mutating("one", std::slice::from_ref(&hook))).await;
    let filled = json!([{
        "name": "a.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
        "clientConfig": {"service": {"name": "a", "namespace": "b", "port": 443}},
        "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "scope": "*"}],
        "failurePolicy": "Fail", "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {},
        "timeoutSeconds": 10, "reinvocationPolicy": "Never",
    }]);
    assert_eq!((&made["webhooks"], &made["metadata"]["generation"]), (&filled, &json!(1)));
    let made = configure(&client, &validating("one", &[hook])).await;
    assert_eq!(made["webhooks"][0].get("reinvocationPolicy"), None);
    let path = format!("{GROUP}/validatingwebhookconfigurations");
    let table = ("accept", "application/json;as=Table;g=meta.k8s.io;v=v1");
    let table = client.ask(http::Method::GET, &path, &[table], "").await.fine();
    let heads: Vec<&Value> =
        table["columnDefinitions"].as_array().unwrap().iter().map(|head| &head["name"]).collect();
    assert_eq!(heads, ["Name", "Webhooks", "Age"]);
    assert_eq!(table["rows"][0]["cells"][1], 1);
}

#[tokio::test]
async fn an_unsupported_configuration_is_refused() {
    let (_server, client) = widgets().await;
    let conditions = json!({"matchConditions": [{"name": "a", "expression": "object.spec."}]});
    let hook = webhook("a", &json!({"url": "https://localhost/"}), &conditions);
    let path = format!("{GROUP}/validatingwebhookconfigurations");
    let refused = client.post(&path, &validating("a", &[hook])).await;
    let why = "ValidatingWebhookConfiguration.admissionregistration.k8s.io \"a\" is invalid: \
               webhooks[0].matchConditions[0].expression: Invalid value: \"object.spec.\": compilation failed: ERROR:";
    let (code, reason, message) = refused.refused();
    assert!((code, reason) == (422, "Invalid") && message.starts_with(why), "{message}");
    let hook = webhook("a", &json!({"url": "http://localhost/"}), &json!({"sideEffects": "Some"}));
    let refused = client.post(&path, &validating("a", &[hook])).await;
    assert_eq!((refused.code, refused.body["details"]["causes"].as_array().unwrap().len()), (422, 2));
}

#[tokio::test]
async fn a_configuration_applies_from_its_response_on() {
    let no = Hook::new(|_, _| Reply::Response(json!({"allowed": false}))).await;
    let (server, client) = widgets().await;
    let kind = Kind::new(
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        Scope::Cluster,
    )
    .unwrap();
    let handle = server.handle_of::<Value>(kind, Identity::admin());
    let hooks = validating("all", &[webhook("no", &no.at("/"), &json!({}))]);
    let path = format!("{GROUP}/validatingwebhookconfigurations/all");
    for round in 0..20 {
        let name = format!("w{round}");
        match round % 2 {
            0 => drop(configure(&client, &hooks).await),
            _ => drop(handle.create(&hooks, None).await.unwrap()),
        }
        assert_eq!(client.post(WIDGETS, &widget(&name, &json!({}))).await.code, 400, "{round}");
        let nobody = json!({"webhooks": [{"name": "no.example.com", "rules": []}]});
        let patch = ("content-type", "application/strategic-merge-patch+json");
        match round % 3 {
            0 => drop(client.delete(&path).await.fine()),
            1 => {
                let key = ObjectKey::new(None, "all").unwrap();
                drop(handle.delete(&key, &Deletion::default()).await.unwrap());
            }
            _ => drop(client.ask(http::Method::PATCH, &path, &[patch], &nobody.to_string()).await.fine()),
        }
        client.post(WIDGETS, &widget(&name, &json!({}))).await.fine();
        client.delete(&path).await;
    }
}

#[tokio::test]
async fn configurations_apply_after_a_start_and_to_other_servers() {
    let no = Hook::new(|_, _| Reply::Response(json!({"allowed": false}))).await;
    let store = Memory::new(Options::default());
    let start = || ApiServer::builder(store.clone()).crds([definition()]).start();
    let first = start().await.unwrap();
    configure(&Client::of(&first), &validating("all", &[webhook("no", &no.at("/"), &json!({}))])).await;
    let second = start().await.unwrap();
    let client = Client::of(&second);
    assert_eq!(client.post(WIDGETS, &widget("a", &json!({}))).await.code, 400);
    Client::of(&first).delete(&format!("{GROUP}/validatingwebhookconfigurations/all")).await.fine();
    let until = tokio::time::Instant::now() + std::time::Duration::from_secs(30);
    while client.post(WIDGETS, &widget("a", &json!({}))).await.code == 400 {
        assert!(tokio::time::Instant::now() < until, "the other server has not heard of it");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn configurations_are_never_sent_to_webhooks() {
    let no = Hook::new(|_, _| Reply::Response(json!({"allowed": false}))).await;
    let (_server, client) = widgets().await;
    let all = json!({"rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}]});
    configure(&client, &validating("all", &[webhook("no", &no.at("/"), &all)])).await;
    configure(&client, &mutating("all", &[webhook("no", &no.at("/"), &all)])).await;
    assert_eq!(client.post(WIDGETS, &widget("a", &json!({}))).await.code, 400);
    let asked = no.seen().len();
    for plural in ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"] {
        client
            .merge(&format!("{GROUP}/{plural}/all"), &json!({"metadata": {"labels": {"a": "b"}}}))
            .await
            .fine();
        client.delete(&format!("{GROUP}/{plural}/all")).await.fine();
    }
    assert_eq!(no.seen().len(), asked);
    client.post(WIDGETS, &widget("a", &json!({}))).await.fine();
}
