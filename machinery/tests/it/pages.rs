//! Diagnostics pages of the components of a plane.

use crate::hosts::{Host, HostStatus, Rack, RackSpec, get, host, until};
use machinery::controllers::{Claim, ElectionConfig, Note};
use machinery::objects::InterestBy;
use machinery::serde_json::{Value, from_str};
use machinery::tokio::time::{Duration, Instant, sleep};
use machinery::{Next, PlaneError, Run};
use std::net::SocketAddr;
use std::sync::Arc;

async fn page(at: SocketAddr) -> Value {
    from_str(&get(at, "/debug/machinery.json").await.1).unwrap()
}

async fn shows(at: SocketAddr, what: impl Fn(&Value) -> bool) -> Value {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let page = page(at).await;
        if what(&page) {
            return page;
        }
        assert!(Instant::now() < end, "{page:#}");
        sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn p04_diagnostics_include_leases_locks_recorders_and_informers() {
    let plane = machinery::embedded().kinds::<(Host, Rack)>().start().await.unwrap();
    let at = plane.diagnostics("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let hosts = plane.objects::<Host>().unwrap();
    let locks = plane.name_locks::<Host, _, _>(|_: &u32| Rack::new("", RackSpec {})).unwrap();
    let recorder = plane.recorder("hosts");
    let own = plane.informer::<Host>().unwrap().build();
    plane.run_informer("hosts of my own", &own).unwrap();
    assert!(matches!(plane.run_informer("hosts of my own", &own), Err(PlaneError::Name(_))));
    let by = InterestBy::Field("spec.rack".into());
    let keyed = plane.keyed_informers(by, |host: &Host| Some(host.spec.rack)).unwrap().build();
    plane.run_keyed("by rack", &keyed).unwrap();
    let interest = keyed.acquire(7).unwrap();

    // A leader and a candidate are both ready.
    let config = |identity: &str| ElectionConfig::new("default/all".parse().unwrap(), identity, 7);
    let (leads, stands) = (plane.elector(config("one")).unwrap(), plane.elector(config("two")).unwrap());
    let claims = locks.clone();
    let reconcile = move |host: Arc<Host>, _: Run| {
        let locks = claims.clone();
        async move {
            let Claim::Held(_) = locks.claim(&*host, &host.spec.rack).await? else { return Ok(Next::Done) };
            Ok::<_, machinery::Error>(Next::Done)
        }
    };
    let led = plane.controller::<Host>("led").unwrap().claiming(&locks).unwrap();
    let leading = plane.lead(&leads, [led.led(move |_| reconcile.clone())]);
    plane.spawn(async { leading.await.map(drop) });
    until(|| leads.state().counts.terms == 1).await;
    let idle = |_: Arc<Rack>, _: Run| async { Ok::<_, machinery::Error>(Next::Done) };
    let standing = plane.lead(&stands, [plane.controller::<Rack>("stands").unwrap().led(move |_| idle)]);
    plane.spawn(async { standing.await.map(drop) });

    let a = hosts.create(&host("a", 7)).await.unwrap().object;
    until(|| locks.counts().held > 0).await; // the event of the lock makes another run
    hosts.create(&host("b", 7)).await.unwrap();
    for text in ["x", "x", "y"] {
        recorder.note(Note::normal(hosts.about(&a), "Ready", text));
    }
    let page = shows(at, |page| {
        let keyed = &page["keyedInformers"]["by rack"];
        page["locks"]["racks.example.com"]["waiters"] == 1
            && page["recorders"]["hosts"]["written"] == 3
            && page["leases"]["default/all as two"]["holder"] == "one"
            && keyed["complete"] == 1
            && keyed["objects"] == 2
            && page["informers"]["hosts of my own"]["objects"] == 2
    })
    .await;
    let (one, two) = (&page["leases"]["default/all"], &page["leases"]["default/all as two"]);
    for (name, expected) in [("leads", Value::from(true)), ("phase", "leading".into()), ("epoch", 0.into())] {
        assert_eq!(one[name], expected, "{one:#}");
    }
    assert!(one["acquired"].is_string() && one["renewedSeconds"].is_number() && one["trouble"].is_null());
    assert_eq!((&two["leads"], &two["phase"]), (&Value::from(false), &Value::from("standing")));
    let racks = &page["locks"]["racks.example.com"];
    assert_eq!(racks["held"], 1, "{racks:#}");
    let held = |page: &Value| page["locks"]["racks.example.com"]["claims"]["held"].as_u64().unwrap();
    let before = held(&page);
    assert!(before > 0);
    assert_eq!(page["recorders"]["hosts"]["aggregated"], 1);
    assert_eq!(get(at, "/readyz").await, (200, "ok\n".into()), "who stands is ready");
    assert_eq!(get(at, "/healthz").await, (200, "ok\n".into()));

    hosts.delete(&"default/a".parse().unwrap()).await.unwrap();
    shows(at, |page| {
        let racks = &page["locks"]["racks.example.com"];
        racks["wakes"] == 1 && held(page) > before && racks["waiters"] == 0
    })
    .await;
    let (_, metrics) = get(at, "/metrics").await;
    for line in [
        r#"leader_election_master_status{name="default/all"} 1"#,
        r#"leader_election_master_status{name="default/all as two"} 0"#,
        r#"machinery_election_terms_total{name="default/all"} 1"#,
        r#"machinery_locks_claims_total{name="racks.example.com",result="taken"} "#,
        r#"machinery_locks_claims_total{name="racks.example.com",result="failed"} 0"#,
        r#"machinery_locks_wakes_total{name="racks.example.com"} 1"#,
        r#"machinery_locks_waiters{name="racks.example.com"} 0"#,
        r#"machinery_recorder_notes_total{name="hosts",result="recorded"} 2"#,
        r#"machinery_recorder_notes_total{name="hosts",result="aggregated"} 1"#,
        r#"machinery_informer_objects{name="hosts of my own"} 1"#,
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    drop(interest);
    plane.stop().await;
}

#[tokio::test]
async fn p02_a_configured_informer_is_shared_by_all_readers() {
    let plane = machinery::embedded().kinds::<(Host, Rack)>().start().await.unwrap();
    let (hosts, by_rack) =
        plane.objects_with::<Host, _>(|hosts| hosts.index(|host: &Host| [host.spec.rack])).unwrap();
    let same = plane.objects::<Host>().unwrap();
    let written = hosts.create(&host("a", 7)).await.unwrap();
    same.informer().wait_for(&written.token, Duration::from_secs(60)).await.unwrap();
    hosts.create(&host("b", 8)).await.unwrap();
    assert_eq!(same.read().by(&by_rack, &7).count(), 1);
    let late = plane.objects_with::<Host, _>(|hosts| hosts.index(|host: &Host| [host.spec.rack]));
    let error = late.unwrap_err().to_string();
    assert!(error.contains("hosts is running already") && error.contains("before its first use"), "{error}");
    let status = Some(HostStatus { address: "x".into() });
    hosts.update_status(&Host { status, ..written.object }).await.unwrap();
    plane.stop().await;
    assert!(matches!(plane.objects_with::<Rack, _>(|_| ()), Err(PlaneError::Stopped)));
}

machinery::metrics! {
    /// The metrics of hosts.
    struct HostMetrics("hosts", "Hosts") {
        /// Hosts seen
        seen: counter("seen", ["rack"]);
    }
}

#[tokio::test]
async fn p51_described_metrics_are_on_the_page_the_dashboard_and_the_table() {
    let plane = machinery::embedded().kinds::<(Host,)>().start().await.unwrap();
    let at = plane.diagnostics("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let metrics = HostMetrics::default();
    plane.add_metrics(&metrics);
    metrics.seen.add(["7"], 3);
    plane.objects::<Host>().unwrap();
    let idle = |_: Arc<Host>, _: Run| async { Ok::<_, machinery::Error>(Next::Done) };
    let controller = plane.controller::<Host>("hosts").unwrap();
    plane.spawn(async move { controller.run(idle).await.map(drop) });
    until(|| plane.metrics().contains("workqueue_depth{name=\"hosts\"}")).await;

    let page = get(at, "/metrics").await.1;
    assert!(page.contains("\nhosts_seen_total{rack=\"7\"} 3\n"), "{page}");
    let described = plane.metric_descriptions();
    assert_eq!(machinery::metrics::undeclared_series(&page, &described), Vec::<String>::new());
    let dashboard: Value = from_str(&get(at, "/debug/dashboard.json").await.1).unwrap();
    let (code, table) = get(at, "/debug/metrics.md").await;
    assert_eq!(code, 200);
    let panels = dashboard["panels"].as_array().unwrap();
    for one in &described {
        let name = one.exposed_name();
        let shows = |panel: &&Value| panel["title"] == *name;
        assert_eq!(panels.iter().filter(shows).count(), 1, "{name}");
        assert_eq!(table.matches(&format!("| `{name}` |")).count(), 1, "{name}");
    }
    plane.stop().await;
}

#[tokio::test]
async fn p04_registered_metrics_are_on_the_page() {
    use machinery::prometheus_client::metrics::counter::Counter;
    let plane = machinery::embedded().kinds::<(Host,)>().start().await.unwrap();
    let at = plane.diagnostics("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let seen = Counter::<u64>::default();
    plane.register(|registry| registry.register("hosts_seen", "Hosts seen", seen.clone()));
    plane.objects::<Host>().unwrap();
    seen.inc_by(3);
    for page in [get(at, "/metrics").await.1, plane.metrics()] {
        assert!(
            page.contains("\nhosts_seen_total 3\n") && page.contains("\nmachinery_informer_objects"),
            "{page}"
        );
        assert!(page.ends_with("# EOF\n") && page.matches("# EOF").count() == 1, "{page}");
    }
    plane.stop().await;
}
