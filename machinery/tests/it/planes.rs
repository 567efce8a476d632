//! Tests of the promises of `src/lib.rs`.

use crate::hosts::{Host, HostSpec, HostStatus, Rack, RackSpec, get, host, until};
use machinery::apiserver::{ApiServer, Identity};
use machinery::controllers::{Claim, ElectionConfig, Note, Term};
use machinery::informers::Lookup;
use machinery::kube::kube_client::Client;
use machinery::objects::{Conflict, InterestBy, ObjectKey, WriteError, Writer};
use machinery::store::{Memory, Options};
use machinery::tokio::time::{Duration, Instant};
use machinery::tokio_util::task::TaskTracker;
use machinery::{Next, Objects, Plane, PlaneError, Run, with};
use std::sync::Arc;

/// Assigns an address to each host, and counts runs.
async fn addresses(plane: &Plane) {
    let hosts = plane.objects::<Host>().unwrap();
    let reconcile = machinery::with(hosts.clone(), set_address);
    let controller = plane.controller::<Host>("hosts").unwrap();
    let running = TaskTracker::new().spawn(async move { controller.run(reconcile).await });

    for rack in 0..20 {
        hosts.create(&host(&format!("h{rack}"), rack)).await.unwrap();
    }
    let has_all = || hosts.read().iter().filter(|(_, host)| host.status.is_some()).count() == 20;
    until(has_all).await;
    let key: ObjectKey = "default/h7".parse().unwrap();
    let seven = hosts.get(&key).unwrap();
    assert_eq!(seven.status.as_ref().unwrap().address, "10.0.7.1");

    let mut moved = (*seven).clone();
    moved.spec.rack = 99;
    hosts.update(&moved).await.unwrap();
    until(|| hosts.get(&key).unwrap().status.as_ref().unwrap().address == "10.0.99.1").await;
    assert!(
        matches!(hosts.update(&moved).await, Err(WriteError::Conflict(_))),
        "it was read before it was written"
    );
    hosts.delete(&key).await.unwrap();
    until(|| hosts.get(&key).is_none()).await;

    plane.stop().await;
    assert!(running.await.unwrap().unwrap().dropped.is_empty());
}

async fn set_address(hosts: Objects<Host>, host: Arc<Host>, run: Run) -> machinery::Result<Next> {
    let address = format!("10.0.{}.1", host.spec.rack);
    if host.status.as_ref().is_none_or(|status| status.address != address) {
        let host = Host { status: Some(HostStatus { address }), ..(*host).clone() };
        run.wrote(&hosts.update_status(&host).await?.token, &hosts);
    }
    Ok(Next::Done)
}

#[tokio::test]
async fn p01_the_same_controller_runs_on_both_transports() {
    addresses(&machinery::embedded().kinds::<(Host,)>().start().await.unwrap()).await;

    // The cluster has no hosts yet: the definition is created and served before the start returns.
    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let client = Client::new(server.service(Identity::admin()), "default");
    for round in 0..2 {
        let plane = machinery::kube_client(client.clone()).kinds::<(Host,)>().start().await.unwrap();
        if round == 0 {
            addresses(&plane).await;
        } else {
            plane.stop().await; // the definition exists already
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_plane_on_disk_keeps_its_objects() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..2 {
        let plane = machinery::embedded().data(directory.path()).kinds::<(Host,)>().start().await.unwrap();
        let hosts = plane.objects::<Host>().unwrap();
        hosts.informer().synced().await.unwrap();
        if round == 0 {
            hosts.create(&host("h1", 1)).await.unwrap();
        } else {
            assert_eq!(hosts.get(&"default/h1".parse().unwrap()).unwrap().spec.rack, 1);
        }
        plane.stop().await;
    }
}

#[tokio::test]
async fn p02_readers_of_a_type_share_one_informer() {
    let plane = machinery::embedded().kinds::<(Host,)>().start().await.unwrap();
    let (one, other) = (plane.objects::<Host>().unwrap(), plane.objects::<Host>().unwrap());
    one.create(&host("a", 1)).await.unwrap();
    let key = "default/a".parse().unwrap();
    until(|| one.get(&key).is_some()).await;
    assert!(Arc::ptr_eq(&one.get(&key).unwrap(), &other.get(&key).unwrap()));
    let counts = one.informer().state().counts;
    assert_eq!(counts.lists + counts.watches, 1, "one request: {counts:?}");
    plane.stop().await;
}

#[tokio::test]
async fn p03_a_plane_shuts_down_in_order() {
    let plane = machinery::embedded().kinds::<(Host,)>().start().await.unwrap();
    let controller = plane.controller::<Host>("hosts").unwrap();
    let (begun, mut begins) = tokio::sync::mpsc::unbounded_channel();
    let ends = Arc::new(tokio::sync::Notify::new());
    let waits = ends.clone();
    let reconcile = move |_: Arc<Host>, run: Run| {
        let (begun, waits) = (begun.clone(), waits.clone());
        async move {
            begun.send(())?;
            run.stopping().cancelled().await;
            waits.notified().await;
            Ok::<_, machinery::Error>(Next::Done)
        }
    };
    let running = TaskTracker::new().spawn(async move { controller.run(reconcile).await });
    let hosts = plane.objects::<Host>().unwrap();
    hosts.create(&host("a", 1)).await.unwrap();
    begins.recv().await.unwrap();
    let stopping = {
        let plane = plane.clone();
        TaskTracker::new().spawn(async move { plane.stop().await })
    };
    plane.stopping().cancelled().await;
    tokio::task::yield_now().await;
    assert!(!hosts.informer().state().closed && !stopping.is_finished(), "a run is under way");
    ends.notify_one();
    stopping.await.unwrap();
    assert!(running.await.unwrap().unwrap().dropped.is_empty());
    assert!(hosts.informer().state().closed);
    let late = plane.controller::<Host>("late").unwrap();
    late.run(|_: Arc<Host>, _: Run| async { Err::<Next, _>("nothing runs any more") }).await.unwrap();
    assert!(matches!(
        plane.objects::<machinery::k8s_openapi::api::core::v1::Node>(),
        Err(PlaneError::Stopped)
    ));
}

#[tokio::test]
async fn p04_a_plane_exposes_metrics_health_and_explanations() {
    let plane = machinery::embedded().kinds::<(Host,)>().start().await.unwrap();
    let hosts = plane.objects::<Host>().unwrap();
    let at = plane.diagnostics("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let reconcile = |host: Arc<Host>, _: Run| async move {
        if host.spec.rack == 13 { Err("rack 13 is not there") } else { Ok(Next::Done) }
    };
    let controller = plane.controller::<Host>("addresses").unwrap();
    assert!(
        get(at, "/readyz").await.1.contains("of hosts.example.com is not synced")
            || hosts.informer().is_synced()
    );
    plane.spawn(async move { controller.run(reconcile).await.map(drop) });
    for (name, rack) in [("db-0", 12), ("db-1", 13)] {
        hosts.create(&host(name, rack)).await.unwrap();
    }
    let explained = async |name: &str| {
        let (status, page) =
            get(at, &format!("/debug/machinery.json?kind=host&object=default%2F{name}")).await;
        assert_eq!(status, 200);
        machinery::explain("host", &page).unwrap()
    };
    let end = Instant::now() + Duration::from_secs(60);
    while !explained("db-1").await.contains("rack 13 is not there")
        || explained("db-0").await.contains("not run")
    {
        assert!(Instant::now() < end, "{}", explained("db-1").await);
    }
    let (well, wrong) = (explained("db-0").await, explained("db-1").await);
    assert!(well.contains("result     done") && well.contains("next run   when something changes"), "{well}");
    assert!(well.contains("because    addresses added"), "{well}");
    assert!(wrong.contains("failures in a row") && wrong.contains("retry"), "{wrong}");

    let (status, metrics) = get(at, "/metrics").await;
    assert_eq!(status, 200);
    for line in [
        r#"machinery_controller_runs_total{name="addresses",result="done"} 1"#,
        r#"machinery_informer_objects{name="hosts.example.com"} 2"#,
        r#"workqueue_adds_total{name="addresses"}"#,
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    assert_eq!(get(at, "/healthz").await, (200, "ok\n".into()));
    assert_eq!(get(at, "/readyz").await, (200, "ok\n".into()));
    assert_eq!(get(at, "/").await.0, 404);
    let another = plane.controller::<Host>("addresses").unwrap().build();
    assert!(another.unwrap_err().to_string().contains("give each its own name"));
    plane.stop().await;
}

#[tokio::test]
async fn a_failed_or_panicked_task_stops_the_plane() {
    for panics in [true, false] {
        let plane = machinery::embedded().start().await.unwrap();
        plane.spawn(async move { if panics { panic!("on purpose") } else { Err("on purpose".into()) } });
        let error = plane.shutdown_on_signal().await.unwrap_err().to_string();
        assert!(error.contains("on purpose"), "{error}");
    }
}

fn lock_of(_: &u32) -> Rack {
    Rack::new("", RackSpec {})
}

/// Each rack has one host; a waiting host gets it after the deletion of the holder.
async fn racks(plane: &Plane) {
    let hosts = plane.objects::<Host>().unwrap();
    let locks = plane.name_locks::<Host, _, _>(lock_of).unwrap();
    let (claims, writes) = (locks.clone(), hosts.clone());
    let reconcile = move |host: Arc<Host>, run: Run| {
        let (locks, hosts) = (claims.clone(), writes.clone());
        async move {
            let address = match locks.claim(&*host, &host.spec.rack).await? {
                Claim::Held(held) => {
                    run.wrote(held.token(), locks.informer());
                    "has it".to_owned()
                }
                Claim::Taken(by) => format!("waits for {by}"),
            };
            if host.status.as_ref().is_none_or(|status| status.address != address) {
                let host = Host { status: Some(HostStatus { address }), ..(*host).clone() };
                run.wrote(&hosts.update_status(&host).await?.token, &hosts);
            }
            Ok::<_, machinery::Error>(Next::Done)
        }
    };
    let controller = plane.controller::<Host>("racks").unwrap().claiming(&locks).unwrap();
    let running = TaskTracker::new().spawn(async move { controller.run(reconcile).await });
    let says = |name: &str, what: &str| {
        let host = hosts.get(&format!("default/{name}").parse().unwrap());
        host.and_then(|host| host.status.clone()).is_some_and(|status| status.address == what)
    };

    hosts.create(&host("db-0", 7)).await.unwrap();
    until(|| says("db-0", "has it")).await;
    hosts.create(&host("db-1", 7)).await.unwrap();
    until(|| says("db-1", "waits for Host db-0")).await;
    hosts.delete(&"default/db-0".parse().unwrap()).await.unwrap();
    until(|| says("db-1", "has it")).await;

    plane.stop().await;
    assert!(running.await.unwrap().unwrap().dropped.is_empty());
    assert!(matches!(plane.name_locks::<Host, _, _>(lock_of), Err(PlaneError::Stopped)));
}

#[tokio::test]
async fn p05_names_are_claimed_on_both_transports() {
    racks(&machinery::embedded().kinds::<(Host, Rack)>().start().await.unwrap()).await;

    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let client = Client::new(server.service(Identity::admin()), "default");
    racks(&machinery::kube_client(client).kinds::<(Host, Rack)>().start().await.unwrap()).await;
    server.stop().await;
}

#[tokio::test]
async fn p06_a_led_controller_writes_under_the_fence_of_its_term() {
    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let client = Client::new(server.service(Identity::admin()), "default");
    let epoch = |hosts: &Objects<Host>| {
        let host = hosts.get(&"default/a".parse().unwrap());
        host.and_then(|host| host.status.clone()).map(|status| status.address)
    };
    let mut fences = Vec::new();
    for name in ["one", "two"] {
        let plane = machinery::kube_client(client.clone()).kinds::<(Host,)>().start().await.unwrap();
        let hosts = plane.objects::<Host>().unwrap();
        let config = ElectionConfig::new("default/hosts".parse().unwrap(), name, 7);
        let elector = plane.elector(config).unwrap();
        let (received, mut terms) = tokio::sync::mpsc::unbounded_channel();
        let writes = hosts.clone();
        let reconcile = move |term: &Term| {
            let _ = received.send(term.fence().clone());
            with((writes.clone(), term.clone()), set_epoch)
        };
        let controller = plane.controller::<Host>("hosts").unwrap();
        let stands = elector.clone();
        let running =
            TaskTracker::new().spawn(async move { controller.run_leading(&stands, reconcile).await });
        fences.push(terms.recv().await.unwrap());
        if name == "one" {
            hosts.create(&host("a", 1)).await.unwrap();
        }
        let expected = elector.state().epoch.unwrap().to_string();
        until(|| epoch(&hosts).as_deref() == Some(&expected)).await;
        plane.stop().await;
        assert!(running.await.unwrap().unwrap().is_some(), "it led until the plane was stopped");
    }
    assert_ne!(fences[0].epoch, fences[1].epoch);

    let hosts = server.handle::<Host>(Identity::admin());
    let late = hosts.create(&host("b", 1), Some(&fences[0])).await;
    assert!(matches!(late, Err(WriteError::Conflict(Conflict::Fence(_)))), "{late:?}");
    server.stop().await;
}

async fn set_epoch(
    (hosts, term): (Objects<Host>, Term),
    host: Arc<Host>,
    run: Run,
) -> machinery::Result<Next> {
    let address = term.epoch().to_string();
    if host.status.as_ref().is_none_or(|status| status.address != address) {
        let host = Host { status: Some(HostStatus { address }), ..(*host).clone() };
        run.wrote(&hosts.fenced(term.fence()).update_status(&host).await?.token, &hosts);
    }
    Ok(Next::Done)
}

#[tokio::test]
async fn p07_a_note_becomes_an_event() {
    use machinery::k8s_openapi::api::core::v1::Event;
    let plane = machinery::embedded().kinds::<(Host,)>().start().await.unwrap();
    let (hosts, events) = (plane.objects::<Host>().unwrap(), plane.objects::<Event>().unwrap());
    let made = hosts.create(&host("a", 1)).await.unwrap().object;
    plane.recorder("hosts").note(Note::warning(hosts.about(&made), "NoPower", "rack 1 has none"));
    until(|| {
        events.read().iter().any(|(_, event)| {
            event.involved_object.uid == made.metadata.uid && event.reason.as_deref() == Some("NoPower")
        })
    })
    .await;
    plane.stop().await;
}

/// Projection of a host.
#[derive(machinery::serde::Deserialize)]
#[serde(crate = "machinery::serde")]
struct HostRack {
    metadata: machinery::kube::KeyMetadata,
    spec: HostSpec,
}

impl machinery::objects::Object for HostRack {
    fn key(&self) -> machinery::objects::ObjectKey {
        self.metadata.key.clone()
    }

    fn version(&self) -> Option<machinery::objects::ResourceVersion> {
        self.metadata.version.clone()
    }

    fn labels(&self) -> machinery::objects::Labels {
        machinery::objects::Labels::default()
    }
}

async fn parts(plane: &machinery::Plane) {
    let hosts = plane.objects::<Host>().unwrap();
    let all = plane.partial_informer::<Host, HostRack>().unwrap().build();
    plane.run_informer("places", &all).unwrap();
    let by = InterestBy::Field("spec.rack".into());
    let keyed = plane
        .keyed_partial_informers::<Host, HostRack, _>(by, |place: &HostRack| Some(place.spec.rack))
        .unwrap()
        .build();
    plane.run_keyed("places by rack", &keyed).unwrap();
    let _interest = keyed.acquire(7).unwrap();
    for (name, rack) in [("a", 7), ("b", 8)] {
        hosts.create(&host(name, rack)).await.unwrap();
    }
    until(|| all.read().iter().count() == 2).await;
    let key = "default/a".parse().unwrap();
    until(|| matches!(keyed.lookup(&key), Lookup::Unique(7, place) if place.spec.rack == 7)).await;
    assert!(matches!(keyed.lookup(&"default/b".parse().unwrap()), Lookup::Absent));
    plane.stop().await;
}

#[tokio::test]
async fn p02_partial_objects_are_cached_on_both_transports() {
    parts(&machinery::embedded().kinds::<(Host,)>().start().await.unwrap()).await;

    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let client = Client::new(server.service(Identity::admin()), "default");
    parts(&machinery::kube_client(client).kinds::<(Host,)>().start().await.unwrap()).await;
    server.stop().await;
}
