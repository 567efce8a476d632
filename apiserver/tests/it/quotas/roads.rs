//! Quotas and writes through a handle, and the roles that may read and write quotas.

use machinery_apiserver::{ApiServer, Identity};
use machinery_objects::{Deletion, Patch, PatchFormat, Preconditions, SourceError, WriteError, Writer};
use machinery_store::{Memory, Options};
use serde_json::json;

use super::tools::{QUOTA, QUOTAS, WIDGETS, exceeds, quota, server, widget};
use crate::client::Client;
use crate::typed::{Widget, create, key, widget as typed};

#[tokio::test]
async fn a_quota_applies_to_a_handle_as_on_the_wire() {
    let (server, _, client) = server().await;
    client.post(QUOTAS, &quota(&json!({"count/widgets.example.com": "2"}))).await.fine();
    let handle = server.handle::<Widget>(Identity::admin());
    create(&handle, "a", "red").await;
    client.post(WIDGETS, &widget("b")).await.fine();
    exceeds(&client.post(WIDGETS, &widget("c")).await);
    let message = r#"widgets.example.com "c" is forbidden: exceeded quota: q, requested: count/widgets.example.com=1, used: count/widgets.example.com=2, limited: count/widgets.example.com=2"#;
    let refused = WriteError::Source(SourceError::Forbidden { reason: message.into() });
    assert_eq!(handle.create(&typed("c", "red"), None).await.unwrap_err(), refused);
    let body = br#"{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "c"}, "spec": {"color": "red"}}"#;
    let patch = Patch {
        format: PatchFormat::Apply { manager: "me".into(), force: false },
        body: body.to_vec().into(),
        status: false,
    };
    assert_eq!(handle.patch(&key("c"), &patch, &Preconditions::default()).await.unwrap_err(), refused);
    handle.delete(&key("a"), &Deletion::default()).await.unwrap();
    handle.patch(&key("c"), &patch, &Preconditions::default()).await.unwrap();
    let used = &client.get(QUOTA).await.fine()["status"]["used"];
    assert_eq!(*used, json!({"count/widgets.example.com": "2"}));
}

/// As in Kubernetes: the roles of a namespace may read its quotas, and only administrators write
/// them.
#[tokio::test]
async fn default_roles_may_read_quotas_and_not_write_them() {
    let server = ApiServer::builder(Memory::new(Options::default())).rbac().start().await.unwrap();
    let admin = Client::of(&server);
    admin.post(QUOTAS, &quota(&json!({"secrets": "1"}))).await.fine();
    for role in ["view", "edit", "admin"] {
        let user = format!("{role}er");
        let group = "rbac.authorization.k8s.io";
        let binding = json!({
            "metadata": {"name": role}, "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
        });
        admin.post(&format!("/apis/{group}/v1/namespaces/default/rolebindings"), &binding).await.fine();
        let client = Client::to(server.service(Identity::new(user)));
        for _ in 0..1000 {
            if client.get(QUOTA).await.code == 200 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        client.get(QUOTA).await.fine();
        client.get(&format!("{QUOTA}/status")).await.fine();
        assert_eq!(client.delete(QUOTA).await.code, 403, "{role}");
        assert_eq!(
            client.merge(QUOTA, &json!({"spec": {"hard": {"secrets": "9"}}})).await.code,
            403,
            "{role}"
        );
    }
}
