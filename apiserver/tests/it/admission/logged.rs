//! Audit annotations and warnings of webhooks in the audit log.

use serde_json::{Value, json};

use super::hook::{Hook, Reply, configure, mutating, validating, webhook};
use super::{WIDGETS, widget};
use crate::audit::{ALL, SECRETS, server};

/// A webhook that adds its path as an annotation, and rejects `no`.
async fn hook() -> Hook {
    Hook::new(|path, review| {
        let request = &review["request"];
        let path = path.split(['?', '/']).nth(1).unwrap().to_owned();
        let (told, name) = (request["object"]["data"]["k"].as_str(), request["name"].as_str().unwrap());
        let said = json!({"by": path, "told": told.unwrap_or("nothing"), "not/a name": "x"});
        Reply::Response(json!({"allowed": name != "no" || path == "mutates", "auditAnnotations": said}))
    })
    .await
}

fn of_webhooks(event: &Value) -> Value {
    let annotations = event["annotations"].as_object().unwrap();
    let of = annotations.iter().filter(|(key, _)| key.contains("example.com"));
    of.map(|(key, value)| (key.clone(), value.clone())).collect()
}

#[tokio::test]
async fn audit_annotations_of_webhooks_are_logged() {
    let (_server, client, lines) = server(ALL).await;
    let hook = hook().await;
    let every = json!([{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["widgets", "secrets"]}]);
    let one = |name: &str| webhook(name, &hook.at(&format!("/{name}")), &json!({"rules": every}));
    configure(&client, &mutating("first", &[one("mutates")])).await;
    configure(&client, &validating("then", &[one("judges")])).await;
    lines.take();
    let all = json!({
        "mutates.example.com/by": "mutates", "mutates.example.com/told": "nothing",
        "judges.example.com/by": "judges", "judges.example.com/told": "nothing",
    });
    for (name, code) in [("a", 201), ("no", 400)] {
        assert_eq!(client.post(WIDGETS, &widget(name, &json!({}))).await.code, code);
        let event = lines.one();
        assert_eq!(of_webhooks(&event), all, "{name}");
        let without = "annotations of judges.example.com: a key is no name; annotations of mutates.example.com: a key is no name";
        assert_eq!(event["annotations"]["machinery.dev/left-out"], without);
    }
    client.get(WIDGETS).await.fine();
    assert_eq!(of_webhooks(&lines.one()), json!({}), "who only reads is asked about by nobody");

    let secret = json!({"metadata": {"name": "a"}, "stringData": {"k": "pl4nted"}});
    client.post(SECRETS, &secret).await.fine();
    assert_eq!(hook.seen().last().unwrap()["object"]["data"]["k"], "cGw0bnRlZA==", "it is told");
    let event = lines.one();
    let keys = all.as_object().unwrap().keys();
    let expected: Value = keys.map(|key| (key.clone(), Value::from("REDACTED"))).collect();
    assert_eq!(of_webhooks(&event), expected, "{event}");
}

/// An event did not show whether a webhook had changed the object, had failed open, or was never
/// called.
#[tokio::test]
async fn mutations_by_webhooks_are_logged() {
    for (policy, has_patch) in
        [(ALL, true), ("omitStages: [RequestReceived]\nrules: [{level: Metadata}]", false)]
    {
        let (_server, client, lines) = server(policy).await;
        let labelled = json!([{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]);
        let hook = Hook::patching(labelled.clone()).await;
        let every = json!([{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["widgets", "secrets"]}]);
        let one = |name: &str, client: &Value, more: Value| {
            let mut more = more;
            more["rules"] = every.clone();
            more["failurePolicy"] = "Ignore".into();
            webhook(name, client, &more)
        };
        let nobody = json!({"url": "https://localhost:1/"});
        let first = [
            one("down", &nobody, json!({})),
            one("other", &hook.at("/"), json!({"matchConditions": [{"name": "no", "expression": "false"}]})),
            one("labels", &hook.at("/"), json!({})),
        ];
        configure(&client, &mutating("first", &first)).await;
        configure(&client, &validating("then", &[one("gone", &nobody, json!({}))])).await;
        let of_webhooks = |event: &Value| -> Value {
            let annotations = event["annotations"].as_object().unwrap();
            let of = annotations.iter().filter(|(key, _)| key.contains("webhook.admission.k8s.io/"));
            of.map(|(key, value)| {
                let value = value.as_str().unwrap();
                (key.clone(), serde_json::from_str::<Value>(value).unwrap_or_else(|_| value.into()))
            })
            .collect()
        };
        let did = |name: &str, mutated: bool| json!({"configuration": "first", "webhook": format!("{name}.example.com"), "mutated": mutated});
        let mut expected = json!({
            "mutation.webhook.admission.k8s.io/round_0_index_0": did("down", false),
            "failed-open.mutation.webhook.admission.k8s.io/round_0_index_0": "down.example.com",
            "mutation.webhook.admission.k8s.io/round_0_index_2": did("labels", true),
            "failed-open.validating.webhook.admission.k8s.io/round_0_index_0": "gone.example.com",
        });
        lines.take();
        client
            .post(SECRETS, &json!({"metadata": {"name": "a"}, "stringData": {"k": "pl4nted"}}))
            .await
            .fine();
        assert_eq!(of_webhooks(&lines.one()), expected, "of what is secret no patch is said");
        client.post(WIDGETS, &widget("a", &json!({}))).await.fine();
        if has_patch {
            expected["patch.webhook.admission.k8s.io/round_0_index_2"] = json!({
                "configuration": "first", "webhook": "labels.example.com", "patch": labelled, "patchType": "JSONPatch",
            });
        }
        assert_eq!(of_webhooks(&lines.one()), expected);
    }
}
