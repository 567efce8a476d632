//! Deployments with one label value.

use machinery_store::{Memory, Options};

use super::fixture::{DEPLOYMENTS, create, deployment, refused, service, start, unique};
use crate::client::Client;
use crate::guards::subnet::{beside, records};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_deployments_with_one_label_value_exactly_one_is_created() {
    let store = Memory::new(Options::default());
    let servers = [start(&store, vec![unique()]).await, start(&store, vec![unique()]).await];
    // Unoptimized, a round takes milliseconds.
    let rounds = if cfg!(debug_assertions) { 150 } else { 5_000 };
    for round in 0..rounds {
        let post = |server: usize, name: &str| {
            let client = Client::to(service(&servers[server]));
            let object = deployment(&format!("{name}{round}"), &format!("app{round}"), None);
            beside(async move { client.post(DEPLOYMENTS, &object).await })
        };
        let both = [post(round % 2, "a"), post((round + 1) % 2, "b")];
        let mut lost = Vec::new();
        for answer in both {
            let answer = answer.await.unwrap();
            if answer.code != 201 {
                lost.push(answer);
            }
        }
        assert_eq!(lost.len(), 1, "one of two wins: {lost:?}");
        refused(&lost[0], "unique-app", "has this value");
    }
    let client = Client::to(service(&servers[0]));
    assert_eq!(records(&store).await, rounds);
    // Another namespace, and another value, are other keys.
    create(&client, "/api/v1/namespaces", &serde_json::json!({"metadata": {"name": "n"}})).await;
    create(&client, "/apis/apps/v1/namespaces/n/deployments", &deployment("a", "app1", None)).await;
    create(&client, DEPLOYMENTS, &deployment("a", "other", None)).await;
    // Deletions are not checked unless the guard requests it, and free the value.
    let dry = client.post(&format!("{DEPLOYMENTS}?dryRun=All"), &deployment("c", "other", None)).await;
    refused(&dry, "unique-app", "a has this value");
    client.delete(&format!("{DEPLOYMENTS}/a")).await.fine();
    create(&client, DEPLOYMENTS, &deployment("c", "other", None)).await;
    for server in servers {
        server.stop().await;
    }
}

/// Deployments that are older than the guard have no records.
#[tokio::test]
async fn a_guard_over_several_kinds_applies_to_existing_objects() {
    let store = Memory::new(Options::default());
    let before = start(&store, Vec::new()).await;
    for name in ["a", "b"] {
        create(&Client::of(&before), DEPLOYMENTS, &deployment(name, "x", None)).await;
    }
    before.stop().await;
    let server = start(&store, vec![unique()]).await;
    let client = Client::of(&server);
    refused(&client.post(DEPLOYMENTS, &deployment("c", "x", None)).await, "unique-app", "a has this value");
    for name in ["a", "b"] {
        client.delete(&format!("{DEPLOYMENTS}/{name}")).await.fine();
    }
    create(&client, DEPLOYMENTS, &deployment("c", "x", None)).await;
    assert_eq!(records(&store).await, 1);
    client.delete(&format!("{DEPLOYMENTS}/c")).await.fine();
    assert_eq!(records(&store).await, 0, "a record goes with the last object");
    server.stop().await;
}
