//! A server that starts on a full disk.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use machinery_apiserver::ApiServer;
use machinery_store::faulty::{DiskCall, DiskFault, FaultyDisk};
use machinery_store::{Backend as _, Disk, DiskOptions, Transaction};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::client::{Client, definition};

const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

fn open(disk: &FaultyDisk) -> Disk {
    let options = DiskOptions { segment_bytes: 1 << 16, background: false, ..DiskOptions::default() };
    Disk::open_on(Arc::new(disk.clone()), options).unwrap()
}

async fn start(store: &Disk) -> ApiServer {
    ApiServer::builder(store.clone()).rbac().crds([definition()]).start().await.unwrap()
}

/// Starts a server that creates its default objects and a widget, and stops it.
async fn filled() -> FaultyDisk {
    let disk = FaultyDisk::new();
    let store = open(&disk);
    let server = start(&store).await;
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 1}});
    Client::of(&server).post(WIDGETS, &widget).await.fine();
    server.stop().await;
    store.close().await.unwrap();
    disk
}

#[tokio::test]
async fn a_server_started_on_a_full_disk_serves_reads_and_takes_writes_when_there_is_space() {
    let disk = filled().await;
    disk.inject(DiskFault::error(DiskCall::Write, ErrorKind::StorageFull).for_ever());
    let store = open(&disk);
    let server = start(&store).await;
    let client = Client::of(&server);
    client.get(&format!("{WIDGETS}/a")).await.fine();
    assert_eq!(client.get(WIDGETS).await.fine()["items"].as_array().unwrap().len(), 1);
    let refused = client.delete(&format!("{WIDGETS}/a")).await;
    assert_eq!((refused.code, refused.refused().1), (503, "ServiceUnavailable"));
    let ready = client.get("/readyz").await;
    assert!(
        ready.code == 500 && ready.body.as_str().unwrap().contains("[-]etcd-readiness failed"),
        "{ready:?}"
    );
    assert_eq!(client.get("/livez").await.code, 200);

    disk.heal();
    assert_eq!(client.get("/readyz").await.code, 200);
    client.delete(&format!("{WIDGETS}/a")).await.fine();
    server.stop().await;
    store.close().await.unwrap();
}

/// A later version has more default objects: they are created when there is space.
#[tokio::test]
async fn default_objects_missing_on_a_full_disk_are_created_later() {
    let disk = filled().await;
    let store = open(&disk);
    let missing = ["core/namespaces/kube-public", "rbac.authorization.k8s.io/clusterroles/view"];
    for key in missing {
        assert!(store.commit(Transaction::new().delete(key)).await.unwrap().changed, "{key} was there");
    }
    store.close().await.unwrap();
    disk.inject(DiskFault::error(DiskCall::Write, ErrorKind::StorageFull).for_ever());
    let store = open(&disk);
    let server = start(&store).await;
    let client = Client::of(&server);
    client.get(&format!("{WIDGETS}/a")).await.fine();
    let paths = ["/api/v1/namespaces/kube-public", "/apis/rbac.authorization.k8s.io/v1/clusterroles/view"];
    for path in paths {
        assert_eq!(client.get(path).await.code, 404);
    }
    disk.heal();
    let created = async {
        for path in paths {
            while client.get(path).await.code != 200 {
                sleep(Duration::from_millis(20)).await;
            }
        }
    };
    timeout(Duration::from_secs(60), created).await.expect("they are created");
    server.stop().await;
}

/// Files may be removed while nobody writes: a probe finds out.
#[tokio::test]
async fn readiness_is_probed_although_nobody_writes() {
    let place = tempfile::tempdir().unwrap();
    let store = Disk::open(place.path().join("store"), DiskOptions::default()).unwrap();
    let server = ApiServer::builder(store).start().await.unwrap();
    let client = Client::of(&server);
    assert_eq!(client.get("/readyz").await.code, 200);
    std::fs::rename(place.path().join("store"), place.path().join("moved")).unwrap();
    let noticed = async {
        while client.get("/readyz").await.code == 200 {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(Duration::from_secs(30), noticed).await.expect("it is noticed");
    let ready = client.get("/readyz").await;
    let text = ready.body.as_str().unwrap();
    assert!(
        text.contains("[-]etcd-readiness failed") && text.contains("not the directory that was opened"),
        "{text}"
    );
    client.get("/api/v1/namespaces/default").await.fine();
    server.stop().await;
}
