//! A create and a delete that meet.

use machinery_store::{Memory, Options, Retention};
use serde_json::json;

use super::fixture::{
    DEPLOYMENTS, MAPS, ReferenceHistory, create, deployment, map, references, refused, service, start,
};
use crate::client::Client;
use crate::guards::subnet::{beside, records};
use crate::interposed::Interposed;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_create_and_a_delete_that_meet_leave_no_dangling_reference() {
    let store = Memory::new(Options { retention: Retention::MANUAL, ..Options::default() });
    let servers = [start(&store, vec![references()]).await, start(&store, vec![references()]).await];
    let client = Client::to(service(&servers[0]));
    let (mut created, mut deleted) = (0, 0);
    // Unoptimized, a round takes milliseconds.
    let rounds = if cfg!(debug_assertions) { 200 } else { 5_000 };
    for round in 0..rounds {
        let name = format!("m{round}");
        create(&client, MAPS, &map(&name)).await;
        let [first, second] =
            [&servers[round % 2], &servers[(round + 1) % 2]].map(|server| Client::to(service(server)));
        let (object, path) = (deployment(&format!("d{round}"), "x", Some(&name)), format!("{MAPS}/{name}"));
        let create = beside(async move { first.post(DEPLOYMENTS, &object).await });
        let delete = beside(async move { second.delete(&path).await });
        match (create.await.unwrap(), delete.await.unwrap()) {
            (made, lost) if made.code == 201 => {
                refused(&lost, "references", &format!("d{round} refers to it"));
                created += 1;
            }
            (lost, made) => {
                made.fine();
                refused(&lost, "references", "its ConfigMap does not exist");
                deleted += 1;
            }
        }
    }
    println!("{created} created, {deleted} deleted");
    assert!(ReferenceHistory::default().check(&store).await >= 2 * rounds);
    assert_eq!(records(&store).await, created, "one for each ConfigMap that exists");
    for server in servers {
        server.stop().await;
    }
}

#[tokio::test]
async fn a_reference_that_is_created_during_a_deletion_is_detected() {
    let memory = Memory::new(Options::default());
    let store = Interposed::over(memory.clone());
    let server = start(&store, vec![references()]).await;
    let other = start(&memory, vec![references()]).await;
    let (client, rival) = (Client::of(&server), Client::of(&other));
    create(&client, MAPS, &map("a")).await;
    let deed = async move { create(&rival, DEPLOYMENTS, &deployment("d", "x", Some("a"))).await };
    store.before("core/configmaps/default/a", deed).await;
    refused(&client.delete(&format!("{MAPS}/a")).await, "references", "d refers to it");
    client.get(&format!("{MAPS}/a")).await.fine();

    let rival = Client::of(&other);
    create(&client, MAPS, &map("b")).await;
    let deed = async move { drop(rival.delete(&format!("{MAPS}/b")).await.fine()) };
    store.before("apps/deployments/default/e", deed).await;
    let lost = client.post(DEPLOYMENTS, &deployment("e", "x", Some("b"))).await;
    refused(&lost, "references", "its ConfigMap does not exist");
    for server in [server, other] {
        server.stop().await;
    }
}

/// The ConfigMap is older than the guard and has no record when it is deleted.
#[tokio::test]
async fn a_deletion_of_an_object_without_a_record_is_detected() {
    let memory = Memory::new(Options::default());
    let before = start(&memory, Vec::new()).await;
    create(&Client::of(&before), MAPS, &map("a")).await;
    before.stop().await;
    let store = Interposed::over(memory.clone());
    let (server, other) = (start(&store, vec![references()]).await, start(&memory, vec![references()]).await);
    let (client, rival) = (Client::of(&server), Client::of(&other));
    let deed = async move { drop(rival.delete(&format!("{MAPS}/a")).await.fine()) };
    store.before("apps/deployments/default/d", deed).await;
    let lost = client.post(DEPLOYMENTS, &deployment("d", "x", Some("a"))).await;
    refused(&lost, "references", "its ConfigMap does not exist");
    for server in [server, other] {
        server.stop().await;
    }
}

#[tokio::test]
async fn an_update_and_a_patch_that_set_a_reference_are_checked() {
    let store = Memory::new(Options::default());
    let server = start(&store, vec![references()]).await;
    let client = Client::of(&server);
    create(&client, MAPS, &map("a")).await;
    create(&client, DEPLOYMENTS, &deployment("d", "x", Some("a"))).await;
    let path = format!("{DEPLOYMENTS}/d");
    let patch = |name: &str| json!({"metadata": {"annotations": {"example.com/config": name}}});
    refused(&client.merge(&path, &patch("b")).await, "references", "does not exist");
    let mut object = client.get(&path).await.fine();
    object["metadata"]["annotations"]["example.com/config"] = "b".into();
    refused(&client.put(&path, &object).await, "references", "does not exist");
    create(&client, MAPS, &map("b")).await;
    client.merge(&path, &patch("b")).await.fine();
    client.delete(&format!("{MAPS}/a")).await.fine();
    refused(&client.delete(&format!("{MAPS}/b")).await, "references", "d refers to it");
    client.merge(&path, &json!({"metadata": {"annotations": null}})).await.fine();
    client.delete(&format!("{MAPS}/b")).await.fine();
    server.stop().await;
}
