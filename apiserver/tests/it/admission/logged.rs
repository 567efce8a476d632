//! What webhooks say of a request in the audit log.

use serde_json::{Value, json};

use super::hook::{Hook, Reply, configure, mutating, validating, webhook};
use super::{WIDGETS, widget};
use crate::audit::{ALL, SECRETS, server};

/// One that says who it is, under its path, and refuses `no`.
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
async fn what_webhooks_say_of_a_request_is_in_the_log() {
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
