//! Mistakes of new users are errors with a remedy, or are reported; none is silent.

use crate::hosts::{Host, HostSpec, Rack, RackSpec, get, host, until};
use crate::logs::captured_logs;
use machinery::apiserver::{ApiServer, Identity};
use machinery::controllers::{Claim, RunError};
use machinery::informers::InterestError;
use machinery::kube::kube_client::Client;
use machinery::objects::{InterestBy, Object};
use machinery::store::{Memory, Options};
use machinery::{Next, Plane, PlaneError, Run};
use std::sync::Arc;

/// The kind of hosts, as a program that expects another type of a field knows it.
mod strict {
    machinery::kinds! {
        #[kube(group = "example.com", version = "v1", kind = "Host", namespaced)]
        pub struct TextRackSpec {
            pub rack: String,
        }
    }
}

mod zones {
    machinery::kinds! {
        #[kube(group = "example.com", version = "v1", kind = "Zone")]
        pub struct ZoneSpec {}

        #[kube(group = "example.com", version = "v1", kind = "ZoneName")]
        pub struct ZoneNameSpec {}
    }
}
use zones::{Zone, ZoneName, ZoneNameSpec, ZoneSpec};

async fn cluster() -> (ApiServer, Plane) {
    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let client = Client::new(server.service(Identity::admin()), "default");
    let plane = machinery::kube_client(client).start().await.unwrap();
    (server, plane)
}

#[tokio::test]
async fn p11_a_kind_that_is_not_served_is_an_error_with_the_remedy() {
    let plane = machinery::embedded().kinds::<(Rack,)>().start().await.unwrap();
    let error = plane.objects::<Host>().unwrap_err();
    assert!(matches!(error, PlaneError::Undeclared { .. }), "{error}");
    assert!(error.to_string().contains(".kinds::<(Host,)>()"), "{error}");
    assert!(matches!(plane.controller::<Host>("hosts"), Err(PlaneError::Undeclared { .. })));
    assert!(matches!(
        plane.controller::<Rack>("racks").unwrap().owning::<Host>(),
        Err(PlaneError::Undeclared { .. })
    ));
    assert!(matches!(
        plane.name_locks::<Rack, _, _>(|_: &u32| Host::new("", HostSpec { rack: 0 })),
        Err(PlaneError::Undeclared { .. })
    ));
    plane.stop().await;

    // A cluster is known by its answers.
    let (server, plane) = cluster().await;
    let controller = plane.controller::<Host>("hosts").unwrap();
    let error = controller
        .run(|_: Arc<Host>, _: Run| async { Ok::<_, machinery::Error>(Next::Done) })
        .await
        .unwrap_err();
    let text = error.to_string();
    assert!(matches!(error.downcast_ref(), Some(RunError::Refused { .. })), "{text}");
    assert!(text.contains("PlaneBuilder::kinds"), "{text}");
    plane.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn p11_a_field_that_is_not_selectable_is_an_error_with_the_remedy() {
    let key_of = |host: &Host| Some(host.spec.rack);
    let by = || InterestBy::Field("spec.row".into());
    let plane = machinery::embedded().kinds::<(Host,)>().start().await.unwrap();
    let error = plane.keyed_informers(by(), key_of).map(drop).unwrap_err();
    assert!(matches!(error, PlaneError::NotSelectable { .. }), "{error}");
    assert!(error.to_string().contains("selectableFields"), "{error}");
    plane.stop().await;

    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let client = Client::new(server.service(Identity::admin()), "default");
    let plane = machinery::kube_client(client).kinds::<(Host,)>().start().await.unwrap();
    for per_key in [false, true] {
        let hosts = plane.keyed_informers(by(), key_of).unwrap();
        let hosts = if per_key { hosts.per_key().build() } else { hosts.build() };
        plane.run_keyed(if per_key { "per key" } else { "by row" }, &hosts).unwrap();
        let (one, other) = (hosts.acquire(7).unwrap(), hosts.acquire(8).unwrap());
        for interest in [one, other] {
            let error = interest.synced().await.unwrap_err();
            assert!(matches!(error, InterestError::Refused { .. }), "{error}");
            assert!(error.to_string().contains("selectableFields"), "{error}");
        }
    }
    // A selection of a separate informer, at the start of its controller.
    let mut selected = plane.informer::<Host>().unwrap();
    let fields = "spec.row=1".parse().unwrap();
    selected.filter(machinery::objects::Filter { fields, ..Default::default() });
    let selected = selected.build();
    plane.run_informer("a row", &selected).unwrap();
    let all = |_: &machinery::objects::Event<Arc<Host>>| None::<u32>;
    let controller = plane.controller_of_requests::<u32>("rows").watching_informer("a row", &selected, all);
    let error =
        controller.run(|_: u32, _: Run| async { Ok::<_, machinery::Error>(Next::Done) }).await.unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(RunError::Refused { .. })), "{error}");
    plane.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn p11_an_object_that_cannot_be_decoded_is_logged_explained_and_in_health() {
    let (logs, _guard) = captured_logs();
    let plane = machinery::embedded().kinds::<(Host,)>().start().await.unwrap();
    let at = plane.diagnostics("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let controller = plane.controller::<strict::Host>("strict").unwrap();
    plane.spawn(async {
        controller
            .run(|_: Arc<strict::Host>, _: Run| async { Ok::<_, machinery::Error>(Next::Done) })
            .await
            .map(drop)
    });
    let strict = plane.objects::<strict::Host>().unwrap();
    strict.informer().synced().await.unwrap();
    assert_eq!(get(at, "/healthz").await, (200, "ok\n".into()));
    plane.objects::<Host>().unwrap().create(&host("db-0", 7)).await.unwrap();
    until(|| strict.informer().state().unreadable.len() == 1).await;

    for path in ["/healthz", "/readyz"] {
        let (status, text) = get(at, path).await;
        assert_eq!(status, 200, "a restart does not help: {text}");
        assert!(text.starts_with("degraded\n") && text.contains("default/db-0 cannot be read"), "{text}");
    }
    let (_, page) = get(at, "/debug/machinery.json?kind=host&object=default%2Fdb-0").await;
    let text = machinery::explain("host", &page).unwrap();
    assert!(text.contains("cannot be decoded, and is not reconciled until it is corrected"), "{text}");
    let logged = logs.lines_with("an object cannot be decoded");
    assert_eq!(logged.len(), 1, "{logged:?}");
    assert!(logged[0].contains("default/db-0"), "{logged:?}");
    plane.stop().await;
}

#[tokio::test]
async fn p11_locks_without_a_notified_controller_are_reported() {
    let (logs, _guard) = captured_logs();
    let plane = machinery::embedded().kinds::<(Host, Rack)>().start().await.unwrap();
    let at = plane.diagnostics("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let hosts = plane.objects::<Host>().unwrap();
    let locks = plane.name_locks::<Host, _, _>(|_: &u32| Rack::new("", RackSpec {})).unwrap();
    let mut made = Vec::new();
    for name in ["a", "b", "c"] {
        made.push(hosts.create(&host(name, 7)).await.unwrap().object);
    }
    assert!(matches!(locks.claim(&made[0], &7).await.unwrap(), Claim::Held(_)));
    assert!(logs.lines_with("no controller is notified").is_empty());
    for waiter in &made[1..] {
        assert!(matches!(locks.claim(waiter, &7).await.unwrap(), Claim::Taken(_)));
    }
    let logged = logs.lines_with("no controller is notified");
    assert_eq!(logged.len(), 1, "{logged:?}");
    assert!(logged[0].contains("PlaneController::claiming"), "{logged:?}");
    let (_, text) = get(at, "/readyz").await;
    assert!(text.contains("the locks racks.example.com notify no waiter"), "{text}");

    let claiming = plane.controller::<Host>("hosts").unwrap().claiming(&locks).unwrap();
    let running = claiming.run(|_: Arc<Host>, _: Run| async { Ok::<_, machinery::Error>(Next::Done) });
    plane.spawn(async { running.await.map(drop) });
    until(|| locks.notifies_waiters()).await;
    let (_, text) = get(at, "/readyz").await;
    assert!(!text.contains("notify no waiter"), "{text}");
    plane.stop().await;
}

#[tokio::test]
async fn p11_locks_that_their_owners_cannot_own_are_refused_when_built() {
    let plane = machinery::embedded().kinds::<(Host, Rack, Zone, ZoneName)>().start().await.unwrap();
    let zone_name = |_: &String| ZoneName::new("", ZoneNameSpec {});
    let refused = plane.name_locks::<Host, _, _>(zone_name).map(drop).unwrap_err();
    assert!(matches!(refused, PlaneError::Locks(_)), "{refused}");
    assert!(refused.to_string().contains("Make the locks namespaced"), "{refused}");
    let rack = |_: &String| Rack::new("", RackSpec {});
    let refused = plane.name_locks::<Zone, _, _>(rack).map(drop).unwrap_err();
    assert!(refused.to_string().contains("name_locks_in"), "{refused}");

    let zone = plane.objects::<Zone>().unwrap().create(&Zone::new("z", ZoneSpec {})).await.unwrap().object;
    let locks = plane.name_locks_in::<Zone, _, _>("default", rack).unwrap();
    let Claim::Held(held) = locks.claim(&zone, &"n".to_owned()).await.unwrap() else { panic!("it was free") };
    assert_eq!(held.lock().to_string(), "default/n");
    let locks = plane.name_locks::<Zone, _, _>(zone_name).unwrap();
    let Claim::Held(held) = locks.claim(&zone, &"n".to_owned()).await.unwrap() else { panic!("it was free") };
    assert_eq!((held.lock().to_string(), zone.key().to_string()), ("n".into(), "z".into()));
    plane.stop().await;
}

#[tokio::test]
async fn p11_a_second_candidate_on_a_machine_has_its_own_diagnostics_port() {
    let plane = machinery::embedded().start().await.unwrap();
    let first = plane.diagnostics("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let second = plane.diagnostics_from(first).await.unwrap();
    assert!(second.port() > first.port() && second.port() < first.port().saturating_add(machinery::PORTS));
    assert_eq!(get(second, "/healthz").await.0, 200);
    let error = plane.diagnostics(first).await.unwrap_err();
    assert!(error.to_string().contains(&first.to_string()), "{error}");
    plane.stop().await;
}

#[tokio::test]
async fn p11_explain_finds_controllers_of_requests() {
    let plane = machinery::embedded().kinds::<(Host,)>().start().await.unwrap();
    let at = plane.diagnostics("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let hosts = plane.objects::<Host>().unwrap();
    let controller = plane
        .controller_of_requests::<u32>("racks")
        .watching::<Host, _>(|event| [event.object().spec.rack])
        .unwrap();
    plane.spawn(async {
        controller
            .run(|rack: u32, _: Run| async move { Err::<Next, _>(format!("no rack {rack}")) })
            .await
            .map(drop)
    });
    hosts.create(&host("db-0", 17)).await.unwrap();
    let explain = async |kind: &str, object: &str| {
        let (_, page) = get(at, &format!("/debug/machinery.json?kind={kind}&object={object}")).await;
        machinery::explain(kind, &page)
    };
    while !explain("racks", "17").await.unwrap().contains("no rack 17") {
        tokio::task::yield_now().await;
    }
    for kind in ["host", "hosts", "Host", "hosts.example.com"] {
        let text = explain(kind, "default%2Fdb-0").await.unwrap();
        assert!(text.contains("the controller racks watches") && text.contains("17"), "{kind}: {text}");
    }
    assert!(explain("requests", "17").await.unwrap().contains("no rack 17"));
    assert!(
        explain("nodes", "x").await.unwrap_err().to_string().contains("of requests is explained by its name")
    );
    plane.stop().await;
}
