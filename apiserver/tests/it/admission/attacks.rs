//! Webhooks that mean harm, or know no better.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use machinery_apiserver::{ApiServer, Limits};
use machinery_store::{Memory, Options};
use machinery_sync::Mutex;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::task::block_in_place;

use super::hook::{Hook, Reply, configure, mutating, patched, validating, webhook};
use super::{WIDGETS, widget};
use crate::client::{Client, definition, widgets};

/// On each call it creates another object, which causes a call again.
#[tokio::test(flavor = "multi_thread", worker_threads = 12)]
async fn a_recursive_webhook_is_bounded() {
    const AT_ONCE: usize = 5;
    let client: Arc<Mutex<Option<Client>>> = Arc::default();
    let (asking, count) = (client.clone(), Arc::new(AtomicUsize::new(0)));
    let counted = count.clone();
    let hook = Hook::new(move |_, _| {
        let at = counted.fetch_add(1, Ordering::SeqCst);
        let another = asking.lock().as_ref().unwrap().again();
        let made = block_in_place(|| {
            Handle::current().block_on(another.post(WIDGETS, &widget(&format!("n{at}"), &json!({}))))
        });
        let status = json!({"code": made.code, "message": made.refused().2});
        Reply::Response(json!({"allowed": made.code == 201, "status": status}))
    })
    .await;
    let limits = Limits { admitted: AT_ONCE, ..Limits::default() };
    let server = ApiServer::builder(Memory::new(Options::default())).limits(limits).crds([definition()]);
    let server = server.start().await.unwrap();
    *client.lock() = Some(Client::of(&server));
    let admin = Client::of(&server);
    configure(&admin, &validating("all", &[webhook("all", &hook.at("/"), &json!({"timeoutSeconds": 30}))]))
        .await;
    let refused = admin.post(WIDGETS, &widget("first", &json!({}))).await;
    assert!(refused.refused().2.contains("as many requests in the server as it may"), "{refused:?}");
    assert_eq!(count.load(Ordering::SeqCst), AT_ONCE, "each of those that may be there at once asked once");
    assert_eq!(admin.get(WIDGETS).await.fine()["items"], json!([]), "and nothing was made");
}

/// A few bytes of a patch that would be gigabytes of an object.
#[tokio::test]
async fn a_patch_that_grows_is_refused() {
    let copies = |times: usize| -> Value {
        let first = json!({"op": "add", "path": "/metadata/annotations", "value": {"a": "x".repeat(1000)}});
        let double = |at: usize| json!({"op": "copy", "from": "/metadata/annotations", "path": format!("/spec/tags/{at}")});
        std::iter::once(first).chain((0..times).map(double)).collect()
    };
    let deep: Value =
        (0..60).flat_map(|_| [json!({"op": "copy", "from": "", "path": "/metadata/annotations"})]).collect();
    let many: Value =
        (0..10_001).map(|_| json!({"op": "test", "path": "/kind", "value": "Widget"})).collect();
    let long = json!([{"op": "add", "path": "/metadata/annotations", "value": {"a": "x".repeat(2_000_000)}}]);
    for patch in [copies(9_000), deep, many, long] {
        let hook = Hook::new(move |_, _| patched(&patch)).await;
        let (_server, client) = widgets().await;
        for policy in ["Fail", "Ignore"] {
            let more = json!({"failurePolicy": policy});
            configure(&client, &mutating(&policy.to_lowercase(), &[webhook("grows", &hook.at("/"), &more)]))
                .await;
            let answer = client.post(WIDGETS, &widget("a", &json!({"tags": []}))).await;
            // An invalid patch may be ignored by the failure policy; an invalid patched object may
            // not.
            assert!(
                answer.code >= 400 || answer.body["metadata"].get("annotations").is_none(),
                "{}",
                answer.code
            );
            client.delete(&format!("{WIDGETS}/a")).await;
            client
                .delete(&format!(
                    "{}/mutatingwebhookconfigurations/{}",
                    super::hook::GROUP,
                    policy.to_lowercase()
                ))
                .await
                .fine();
        }
        client.post(WIDGETS, &widget("b", &json!({}))).await.fine();
    }
}
