//! Predicates and map functions: the keys that run for an event.

use crate::hosts::{Host, HostStatus, Rack, RackSpec, host, until};
use machinery::objects::{Event, Kind, Object};
use machinery::{Next, Plane, Run, changed};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

async fn begin() -> Plane {
    machinery::embedded().kinds::<(Host, Rack)>().start().await.unwrap()
}

#[tokio::test]
async fn p08_a_predicate_filters_events_but_no_deletion() {
    let plane = begin().await;
    let hosts = plane.objects::<Host>().unwrap();
    let (runs, goes) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (counts, going) = (runs.clone(), goes.clone());
    let reconcile = move |host: Arc<Host>, _: Run| {
        counts.fetch_add(1, Relaxed);
        going.fetch_add(u32::from(host.is_deleting()), Relaxed);
        async { Ok::<_, machinery::Error>(Next::Done) }
    };
    let of_rack_7 = |event: &Event<Arc<Host>>| event.object().spec.rack == 7;
    let by_rack = changed(|host: &Host| host.spec.rack);
    let controller =
        plane.controller_filtered::<Host>("hosts", move |event| of_rack_7(event) && by_rack(event)).unwrap();
    plane.spawn(async { controller.run(reconcile).await.map(drop) });

    let mut held = host("a", 8);
    held.metadata.finalizers = Some(vec!["example.com/power".into()]);
    hosts.create(&held).await.unwrap();
    let b = hosts.create(&host("b", 7)).await.unwrap().object;
    until(|| runs.load(Relaxed) == 1).await; // of b: a is in another rack
    let status = Some(HostStatus { address: "x".into() });
    let b = hosts.update_status(&Host { status, ..b }).await.unwrap();
    hosts.informer().wait_for(&b.token, std::time::Duration::from_secs(60)).await.unwrap();
    hosts.delete(&"default/a".parse().unwrap()).await.unwrap();
    until(|| goes.load(Relaxed) == 1).await;
    assert_eq!(runs.load(Relaxed), 2, "a status is no news");

    let mut held = (*hosts.get(&"default/a".parse().unwrap()).unwrap()).clone();
    held.metadata.finalizers = None;
    hosts.update(&held).await.unwrap();
    until(|| hosts.get(&"default/a".parse().unwrap()).is_none()).await;
    plane.stop().await;
}

#[tokio::test]
async fn an_owner_runs_for_filtered_events_of_owned_objects() {
    let plane = begin().await;
    let (hosts, racks) = (plane.objects::<Host>().unwrap(), plane.objects::<Rack>().unwrap());
    let runs = Arc::new(AtomicU32::new(0));
    let counts = runs.clone();
    let reconcile = move |_: Arc<Host>, _: Run| {
        counts.fetch_add(1, Relaxed);
        async { Ok::<_, machinery::Error>(Next::Done) }
    };
    let labels = |rack: &Rack| rack.metadata.labels.clone();
    let controller = plane
        .controller_filtered::<Host>("hosts", |event| matches!(event, Event::Added { .. }))
        .unwrap()
        .owning_filtered::<Rack>(changed(labels))
        .unwrap();
    plane.spawn(async { controller.run(reconcile).await.map(drop) });
    let owner = hosts.create(&host("a", 7)).await.unwrap().object;
    until(|| runs.load(Relaxed) == 1).await;

    let mut rack = Rack::new("a", RackSpec {});
    rack.metadata.namespace = Some("default".into());
    let owner = machinery::objects::OwnerRef::controller(
        &Kind::of::<Host>().unwrap(),
        &owner.key(),
        machinery::objects::Uid::new(&owner.metadata.uid.clone().unwrap()).unwrap(),
    );
    rack.metadata.owner_references = Some(vec![(&owner).into()]);
    let mut rack = racks.create(&rack).await.unwrap().object;
    until(|| runs.load(Relaxed) == 2).await;
    let label = |text: &str| Some(BTreeMap::from([("of".to_owned(), text.to_owned())]));
    rack.metadata.annotations = label("nobody's interest");
    let mut rack = racks.update(&rack).await.unwrap();
    racks.informer().wait_for(&rack.token, std::time::Duration::from_secs(60)).await.unwrap();
    rack.object.metadata.labels = label("interest");
    racks.update(&rack.object).await.unwrap();
    until(|| runs.load(Relaxed) == 3).await;
    racks.delete(&"default/a".parse().unwrap()).await.unwrap();
    until(|| runs.load(Relaxed) == 4).await;
    plane.stop().await;
    assert_eq!(runs.load(Relaxed), 4);
}

#[tokio::test]
async fn p08_a_controller_of_requests_runs_for_keys_without_object() {
    let plane = begin().await;
    let hosts = plane.objects::<Host>().unwrap();
    let at = plane.diagnostics("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let seen = Arc::new(machinery_sync::Mutex::new(BTreeMap::new()));
    let (reads, sees) = (hosts.clone(), seen.clone());
    let reconcile = move |rack: u32, _: Run| {
        let there = reads.read().iter().filter(|(_, host)| host.spec.rack == rack).count();
        sees.lock().insert(rack, there);
        async { Ok::<_, machinery::Error>(Next::Done) }
    };
    // The former and the present rack.
    let racks = |event: &Event<Arc<Host>>| {
        let old = if let Event::Updated { old, .. } = event { Some(old.spec.rack) } else { None };
        [Some(event.object().spec.rack), old].into_iter().flatten()
    };
    let in_use = |event: &Event<Arc<Host>>| event.object().spec.rack != 0;
    let controller =
        plane.controller_of_requests::<u32>("racks").watching_filtered::<Host, _>(in_use, racks).unwrap();
    plane.spawn(async { controller.run(reconcile).await.map(drop) });

    let mut moved = hosts.create(&host("a", 7)).await.unwrap().object;
    hosts.create(&host("b", 7)).await.unwrap();
    hosts.create(&host("c", 0)).await.unwrap();
    until(|| *seen.lock() == BTreeMap::from([(7, 2)])).await;
    moved.spec.rack = 9;
    hosts.update(&moved).await.unwrap();
    until(|| *seen.lock() == BTreeMap::from([(7, 1), (9, 1)])).await;
    hosts.delete(&"default/b".parse().unwrap()).await.unwrap();
    until(|| *seen.lock() == BTreeMap::from([(7, 0), (9, 1)])).await;

    let (_, page) = crate::hosts::get(at, "/debug/machinery.json?kind=racks&object=9").await;
    let words = machinery::explain("racks", &page).unwrap();
    assert!(words.contains("requests 9, by the controller racks") && words.contains("done"), "{words}");
    plane.stop().await;
}
