//! Own writes of owned objects, and of kinds known at run time, on a plane.

use crate::hosts::{Host, Rack, RackSpec, host, until};
use machinery::apiserver::Identity;
use machinery::k8s_openapi::api::events::v1::Event as ReportedEvent;
use machinery::k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use machinery::kube::kube_client::Client;
use machinery::kube_core::{DynamicObject, Resource};
use machinery::objects::{ObjectKey, Patch, PatchFormat, Writer};
use machinery::serde_json::{from_value, json};
use machinery::tokio::time::{Duration, sleep};
use machinery::{Next, Plane, Run, with};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const PAUSE: Duration = Duration::from_millis(300);

fn key() -> ObjectKey {
    "default/h1".parse().unwrap()
}

async fn with_hosts() -> Plane {
    machinery::embedded().kinds::<(Host, Rack)>().start().await.unwrap()
}

#[tokio::test]
async fn a_created_child_requests_no_run_and_a_foreign_change_of_it_does() {
    let plane = with_hosts().await;
    let (hosts, racks) = (plane.objects::<Host>().unwrap(), plane.objects::<Rack>().unwrap());
    let runs = Arc::new(AtomicUsize::new(0));
    let (counted, created) = (runs.clone(), racks.clone());
    let reconcile = move |host: Arc<Host>, _: Run| {
        let (runs, racks) = (counted.clone(), created.clone());
        async move {
            runs.fetch_add(1, Relaxed);
            if racks.get(&key()).is_none() {
                let mut rack = Rack::new("h1", RackSpec {});
                rack.metadata.namespace = Some("default".into());
                rack.metadata.owner_references = host.controller_owner_ref(&()).map(|owner| vec![owner]);
                racks.create(&rack).await?;
            }
            Ok::<_, machinery::Error>(Next::Done)
        }
    };
    let controller = plane.controller::<Host>("hosts").unwrap().owning::<Rack>().unwrap();
    plane.spawn(async { controller.run(reconcile).await.map(drop) });
    hosts.create(&host("h1", 1)).await.unwrap();
    until(|| racks.get(&key()).is_some()).await;
    sleep(PAUSE).await;
    assert_eq!(runs.load(Relaxed), 1, "the creation of the child is an own write");

    let client = Client::new(plane.server().unwrap().service(Identity::admin()), "default");
    let other = machinery::kube_client(client).start().await.unwrap();
    let theirs = other.objects::<Rack>().unwrap();
    until(|| theirs.get(&key()).is_some()).await;
    let mut labeled = (*theirs.get(&key()).unwrap()).clone();
    labeled.metadata.labels = Some([("row".to_owned(), "7".to_owned())].into());
    theirs.update(&labeled).await.unwrap();
    until(|| runs.load(Relaxed) == 2).await;
    theirs.delete(&key()).await.unwrap();
    until(|| runs.load(Relaxed) == 3).await;
    until(|| racks.get(&key()).is_some()).await;
    sleep(PAUSE).await;
    assert_eq!(runs.load(Relaxed), 3, "it is created again, by one run");
    other.stop().await;
    plane.stop().await;
}

fn definition() -> CustomResourceDefinition {
    let schema =
        json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    from_value(json!({
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": schema }],
        },
    }))
    .unwrap()
}

fn widget(size: u32) -> DynamicObject {
    from_value(json!({
        "apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": { "name": "h1", "namespace": "default" }, "spec": { "size": size },
    }))
    .unwrap()
}

#[derive(Clone)]
struct WidgetContext {
    writes: Arc<dyn Writer<DynamicObject>>,
    runs: Arc<AtomicUsize>,
}

/// Writes the double of the size, unless it is there.
async fn double(context: WidgetContext, widget: Arc<DynamicObject>, _: Run) -> machinery::Result<Next> {
    context.runs.fetch_add(1, Relaxed);
    let double = json!(widget.data["spec"]["size"].as_u64().unwrap_or_default() * 2);
    if widget.data.get("double") != Some(&double) {
        let mut widget = (*widget).clone();
        widget.data["double"] = double;
        context.writes.update(&widget, &Default::default()).await?;
    }
    Ok(Next::Done)
}

#[tokio::test]
async fn an_own_write_of_a_kind_known_at_run_time_requests_no_run() {
    let plane = with_hosts().await;
    let definitions = plane.writer::<CustomResourceDefinition>().unwrap();
    definitions.create(&definition(), None).await.unwrap();
    let widgets = plane.kind_named::<DynamicObject>("widgets.example.com").unwrap();
    let writes = plane.writer_of_kind(&widgets);
    let runs = Arc::new(AtomicUsize::new(0));
    let controller = plane.controller_of_kind("widgets", &widgets);
    let reconcile = with(WidgetContext { writes: writes.clone(), runs: runs.clone() }, double);
    plane.spawn(async { controller.run(reconcile).await.map(drop) });
    until(|| widgets.kind().is_some()).await;
    writes.create(&widget(1), None).await.unwrap();
    let doubled =
        |to: u32| widgets.get(&key()).is_some_and(|widget| widget.data.get("double") == Some(&json!(to)));
    until(|| doubled(2)).await;
    for size in 2..5 {
        let mut changed = (*widgets.get(&key()).unwrap()).clone();
        changed.data["spec"]["size"] = json!(size);
        writes.update(&changed, &Default::default()).await.unwrap();
        until(|| doubled(2 * size)).await;
    }
    sleep(PAUSE).await;
    assert_eq!(runs.load(Relaxed), 4, "one for the creation, and one for each change");
    plane.stop().await;
}

#[tokio::test]
async fn a_fight_over_a_kind_known_at_run_time_is_reported() {
    let plane = with_hosts().await;
    let definitions = plane.writer::<CustomResourceDefinition>().unwrap();
    definitions.create(&definition(), None).await.unwrap();
    let widgets = plane.kind_named::<DynamicObject>("widgets.example.com").unwrap();
    let writes = plane.writer_of_kind(&widgets);
    let runs = Arc::new(AtomicUsize::new(0));
    let controller = plane.controller_of_kind("widgets", &widgets).detecting_fights(&widgets);
    let reconcile = with(WidgetContext { writes: writes.clone(), runs }, double);
    plane.spawn(async { controller.run(reconcile).await.map(drop) });
    until(|| widgets.kind().is_some()).await;
    writes.create(&widget(1), None).await.unwrap();
    for undone in 0..20 {
        let is_double = || widgets.get(&key()).is_some_and(|widget| widget.data["double"] == json!(2));
        until(is_double).await;
        if plane.metrics().contains("write_fight_rate{") {
            break;
        }
        let body: Arc<[u8]> = Arc::from(*br#"{"double":"two"}"#);
        let patch = Patch { format: PatchFormat::Merge, body, status: false };
        let undone_at = writes.patch(&key(), &patch, &Default::default()).await.unwrap().token;
        widgets.informer().wait_for(&undone_at, Duration::from_secs(60)).await.unwrap();
        assert!(undone < 19, "{}", plane.metrics());
    }
    assert!(plane.metrics().contains("field=\"double\""), "{}", plane.metrics());
    let events = plane.objects::<ReportedEvent>().unwrap();
    until(|| {
        let all = events.read();
        let of_fight = all.iter().filter(|(_, event)| event.reason.as_deref() == Some("WriteFight"));
        of_fight.map(|(_, event)| event.regarding.clone().unwrap_or_default().kind).next()
            == Some(Some("Widget".to_owned()))
    })
    .await;
    plane.stop().await;
}
