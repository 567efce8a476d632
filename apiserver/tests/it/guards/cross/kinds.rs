//! Member kinds that come and go, and guards that hang.

use std::sync::Arc;
use std::time::Duration;

use machinery_apiserver::{ApiServer, CrossKindGuard, Limits};
use machinery_objects::InvalidField;
use machinery_store::{Memory, Options};
use machinery_sync::Mutex;
use serde_json::{Value, json};

use super::fixture::{MAPS, create, map, refused, start};
use crate::client::{Client, definition};

/// ConfigMaps and widgets have one name space.
fn one_name() -> CrossKindGuard {
    let name = |object: &Value| [object["metadata"]["name"].as_str().unwrap_or_default().to_owned()];
    CrossKindGuard::new("one-name")
        .member_of("", "configmaps", name)
        .member_of("example.com", "widgets", name)
        .check(|_, others| {
            let taken = |_| InvalidField { field: "metadata.name".into(), reason: "it is taken".into() };
            others.iter().find(|other| other.namespace() == Some("default")).map(taken).into_iter().collect()
        })
}

#[tokio::test]
async fn a_member_kind_may_be_defined_later() {
    let store = Memory::new(Options::default());
    let server = start(&store, vec![one_name()]).await;
    let client = Client::of(&server);
    create(&client, MAPS, &map("a")).await;
    create(&client, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition()).await;
    let widgets = "/apis/example.com/v1/namespaces/default/widgets";
    let widget =
        |name: &str| json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}});
    refused(&client.post(widgets, &widget("a")).await, "one-name", "it is taken");
    create(&client, widgets, &widget("b")).await;
    refused(&client.post(MAPS, &map("b")).await, "one-name", "it is taken");
    client.delete(&format!("{widgets}/b")).await.fine();
    create(&client, MAPS, &map("b")).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hanging_guard_over_several_kinds_blocks_only_its_own_members() {
    let gate = Arc::<Mutex<()>>::default();
    let blocked = gate.clone();
    let hangs = CrossKindGuard::new("hangs").member_of("", "secrets", |_: &Value| ["k".to_owned()]).check(
        move |_, _| -> Vec<InvalidField> {
            drop(blocked.lock());
            Vec::new()
        },
    );
    let limits = Limits { guards_at_once: 1, guard_time: Duration::from_millis(300), ..Limits::default() };
    let builder = ApiServer::builder(Memory::new(Options::default())).limits(limits);
    let server = builder.guard(hangs).guard(one_name()).start().await.unwrap();
    let client = Client::of(&server);
    let secrets = "/api/v1/namespaces/default/secrets";
    {
        let lock = gate.clone();
        let (held, release) = (std::sync::mpsc::channel(), std::sync::mpsc::channel::<()>());
        let thread = std::thread::spawn(move || {
            let _guard = lock.lock();
            held.0.send(()).unwrap();
            let _ = release.1.recv();
        });
        held.1.recv().unwrap();
        let late = client.post(secrets, &map("a")).await;
        assert_eq!((late.code, late.refused().2.contains("\"hangs\"")), (503, true), "{late:?}");
        assert_eq!(client.post(secrets, &map("b")).await.code, 429, "its slot is taken");
        create(&client, MAPS, &map("a")).await;
        release.0.send(()).unwrap();
        thread.join().unwrap();
    }
    server.stop().await;
}
