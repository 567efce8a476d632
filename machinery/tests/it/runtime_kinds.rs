//! Kinds that are defined, deleted and defined again while controllers run.

use crate::hosts::{Host, Rack, host, until};
use machinery::apiserver::{ApiServer, Identity};
use machinery::k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use machinery::kube::kube_client::Client;
use machinery::kube_core::DynamicObject;
use machinery::objects::{Kind, Object, ObjectKey, Scope, SourceError, WriteError, WriteOutcome, WriteToken};
use machinery::serde_json::{from_value, json};
use machinery::store::{Memory, Options};
use machinery::tokio::time::{Duration, Instant};
use machinery::{Next, Plane, PlaneError, Run, RuntimeKind, with};
use machinery_sync::Mutex;
use std::sync::Arc;

fn definition(scope: &str, version: &str) -> CustomResourceDefinition {
    let schema =
        json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    from_value(json!({
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": scope,
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList" },
            "versions": [{ "name": version, "served": true, "storage": true, "schema": schema }],
        },
    }))
    .unwrap()
}

fn widget(key: &str, version: &str, owner: Option<&Host>) -> DynamicObject {
    let key: ObjectKey = key.parse().unwrap();
    let owners = owner.map(|owner| {
        json!([{ "apiVersion": "example.com/v1", "kind": "Host", "name": owner.metadata.name,
                 "uid": owner.metadata.uid, "controller": true }])
    });
    from_value(json!({
        "apiVersion": format!("example.com/{version}"), "kind": "Widget",
        "metadata": { "name": key.name(), "namespace": key.namespace(), "ownerReferences": owners },
        "spec": { "size": 1 },
    }))
    .unwrap()
}

/// Runs a test on an embedded server and on a cluster.
async fn on_both<F: Future<Output = ()>>(test: impl Fn(Plane) -> F) {
    test(machinery::embedded().kinds::<(Host, Rack)>().start().await.unwrap()).await;
    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let client = Client::new(server.service(Identity::admin()), "default");
    test(machinery::kube_client(client).kinds::<(Host, Rack)>().start().await.unwrap()).await;
    server.stop().await;
}

async fn define(plane: &Plane, scope: &str, version: &str) {
    let definitions = plane.writer::<CustomResourceDefinition>().unwrap();
    // A deletion may still be under way.
    let end = Instant::now() + Duration::from_secs(60);
    while let Err(error) = definitions.create(&definition(scope, version), None).await {
        assert!(Instant::now() < end, "{error}");
        tokio::task::yield_now().await;
    }
}

async fn undefine(plane: &Plane, widgets: &RuntimeKind) {
    let definitions = plane.writer::<CustomResourceDefinition>().unwrap();
    definitions.delete(&"widgets.example.com".parse().unwrap(), &Default::default()).await.unwrap();
    until(|| widgets.kind().is_none()).await;
}

type Seen = Arc<Mutex<Vec<String>>>;

fn saw(seen: &Seen, text: &str) -> bool {
    seen.lock().iter().any(|seen| seen == text)
}

async fn a_controller_lasts(plane: Plane) {
    let widgets = plane.kind_named::<DynamicObject>("widgets.example.com").unwrap();
    let (seen, states) = (Seen::default(), Seen::default());
    let note = |seen: Seen, widget: Arc<DynamicObject>, _: Run| async move {
        seen.lock().push(widget.key().to_string());
        Ok::<_, machinery::Error>(Next::Done)
    };
    let controller = plane.controller_of_kind("widgets", &widgets);
    let reconcile = with(seen.clone(), note);
    plane.spawn(async { controller.run(reconcile).await.map(drop) });
    let note_state = |states: Seen, state: String, _: Run| async move {
        states.lock().push(state);
        Ok::<_, machinery::Error>(Next::Done)
    };
    let named =
        plane.controller_of_requests::<String>("state of widgets").when_kind_changes(&widgets, |kind| {
            [kind.map_or("absent".into(), |kind: &Kind| format!("{:?} {}", kind.scope(), kind.version()))]
        });
    let reconcile = with(states.clone(), note_state);
    plane.spawn(async { named.run(reconcile).await.map(drop) });
    let writes = plane.writer_of_kind(&widgets);

    // Without the kind the controllers run, and a write is an error that names it.
    until(|| saw(&states, "absent")).await;
    let error = writes.create(&widget("default/a", "v1", None), None).await.unwrap_err();
    assert!(matches!(error, WriteError::Source(SourceError::NotServed { .. })), "{error}");
    assert!(widgets.informer().is_synced() && widgets.read().is_empty());

    define(&plane, "Namespaced", "v1").await;
    until(|| widgets.kind().is_some()).await;
    let written = writes.create(&widget("default/a", "v1", None), None).await.unwrap();
    until(|| saw(&seen, "default/a") && saw(&states, "Namespaced v1")).await;
    widgets.informer().wait_for(&written.token, Duration::from_secs(60)).await.unwrap();

    undefine(&plane, &widgets).await;
    until(|| widgets.read().is_empty()).await;
    // The kind returns with another scope and version.
    define(&plane, "Cluster", "v2").await;
    until(|| widgets.kind().is_some_and(|kind| kind.scope() == Scope::Cluster)).await;
    writes.create(&widget("b", "v2", None), None).await.unwrap();
    until(|| saw(&seen, "b") && saw(&states, "Cluster v2")).await;
    assert!(widgets.get(&"b".parse().unwrap()).is_some());
    plane.stop().await;
}

#[tokio::test]
async fn p16_a_controller_lasts_through_a_kind_defined_deleted_and_defined_again() {
    on_both(a_controller_lasts).await;
}

async fn owners_are_reconciled(plane: Plane) {
    let hosts = plane.objects::<Host>().unwrap();
    let widgets = plane.kind_named::<DynamicObject>("widgets.example.com").unwrap();
    let runs = Arc::new(Mutex::new(0));
    let count = |runs: Arc<Mutex<i32>>, _: Arc<Host>, _: Run| async move {
        *runs.lock() += 1;
        Ok::<_, machinery::Error>(Next::Done)
    };
    let controller = plane.controller::<Host>("hosts").unwrap().owning_kind(&widgets);
    let reconcile = with(runs.clone(), count);
    plane.spawn(async { controller.run(reconcile).await.map(drop) });
    let owner = hosts.create(&host("db-0", 7)).await.unwrap().object;
    until(|| *runs.lock() == 1).await;

    define(&plane, "Namespaced", "v1").await;
    until(|| widgets.kind().is_some()).await;
    plane.writer_of_kind(&widgets).create(&widget("default/a", "v1", Some(&owner)), None).await.unwrap();
    until(|| *runs.lock() >= 2).await;
    let before = *runs.lock();
    undefine(&plane, &widgets).await;
    until(|| *runs.lock() > before).await;
    plane.stop().await;
}

#[tokio::test]
async fn p16_owners_are_reconciled_for_objects_of_a_kind_defined_later_and_deleted() {
    on_both(owners_are_reconciled).await;
}

async fn no_key_is_held(plane: Plane) {
    use machinery::controllers::WriteTracker as _;
    let widgets = plane.kind_named::<DynamicObject>("widgets.example.com").unwrap();
    define(&plane, "Namespaced", "v1").await;
    until(|| widgets.kind().is_some()).await;
    let written =
        plane.writer_of_kind(&widgets).create(&widget("default/a", "v1", None), None).await.unwrap();
    // A write that no cache will ever show.
    let WriteToken { key, uid, .. } = written.token;
    let token =
        WriteToken { key, uid, wrote: WriteOutcome::Stored(machinery::objects::Revision(u64::MAX).into()) };
    let long = Duration::from_secs(3600);
    let (waits, tracked) = (token.clone(), widgets.clone());
    let waiting = machinery::tokio_util::task::TaskTracker::new()
        .spawn(async move { tracked.wait_for_write(&waits, long).await });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    undefine(&plane, &widgets).await;
    assert!(waiting.await.unwrap(), "the kind is gone, and its key is released");
    plane.stop().await;
}

#[tokio::test]
async fn p16_a_key_that_waits_for_a_write_is_released_with_the_kind() {
    on_both(no_key_is_held).await;
}

#[tokio::test]
async fn p16_handles_of_a_name_share_an_informer_and_built_in_kinds_have_names() {
    let plane = machinery::embedded().kinds::<(Host,)>().start().await.unwrap();
    let one = plane.kind_named::<DynamicObject>("hosts.v1.example.com").unwrap();
    let other = plane.kind_named::<DynamicObject>("hosts.v1.example.com").unwrap();
    let typed = plane.kind_named::<Host>("hosts.v1.example.com").unwrap();
    plane.objects::<Host>().unwrap().create(&host("db-0", 7)).await.unwrap();
    let key = "default/db-0".parse().unwrap();
    until(|| one.get(&key).is_some() && other.get(&key).is_some() && typed.get(&key).is_some()).await;
    assert!(Arc::ptr_eq(&one.get(&key).unwrap(), &other.get(&key).unwrap()));
    assert_eq!(typed.get(&key).unwrap().spec.rack, 7);
    let namespaces = plane.kind_named::<DynamicObject>("namespaces").unwrap();
    assert_eq!(namespaces.served().await.unwrap().scope(), Scope::Cluster);
    until(|| namespaces.get(&"default".parse().unwrap()).is_some()).await;
    assert!(matches!(plane.kind_named::<DynamicObject>("No/Name"), Err(PlaneError::KindName(_))));
    plane.stop().await;
    assert!(matches!(plane.kind_named::<DynamicObject>("later.example.com"), Err(PlaneError::Stopped)));
}

#[tokio::test]
async fn p16_an_informer_of_a_kind_known_by_name_has_indexes() {
    on_both(|plane| async move {
        let racks = |widget: &DynamicObject| widget.data["spec"]["size"].as_i64();
        let (widgets, by_size) =
            plane.kind_named_with("widgets.example.com", |informer| informer.index(racks)).unwrap();
        let again = plane.kind_named_with::<DynamicObject, _>("widgets.example.com", |_| ());
        assert!(matches!(again, Err(PlaneError::Runs { .. })), "{again:?}");
        define(&plane, "Namespaced", "v1").await;
        widgets.served().await.unwrap();
        let writer = plane.writer_of_kind(&widgets);
        writer.create(&widget("default/a", "v1", None), None).await.unwrap();
        until(|| widgets.read().by(&by_size, &1).count() == 1).await;
        assert_eq!(plane.kind_named::<DynamicObject>("widgets.example.com").unwrap().read().len(), 1);
        plane.stop().await;
    })
    .await;
}
