//! Own writes, write fights and declared fields, on a plane.

use crate::hosts::{Host, HostStatus, get, host, until};
use machinery::apiserver::{ApiServer, Identity};
use machinery::k8s_openapi::api::events::v1::Event as ReportedEvent;
use machinery::kube::kube_client::Client;
use machinery::objects::{Filter, ObjectKey, Patch, PatchFormat, Preconditions, WriteOutcome};
use machinery::store::{Memory, Options};
use machinery::tokio::time::{Duration, sleep};
use machinery::tokio_util::task::TaskTracker;
use machinery::{Next, Objects, Plane, PlaneError, Run};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const PAUSE: Duration = Duration::from_millis(300);

fn key() -> ObjectKey {
    "default/h1".parse().unwrap()
}

fn with_address(host: &Host, address: &str) -> Host {
    Host { status: Some(HostStatus { address: address.into() }), ..host.clone() }
}

fn address_of(host: &Host) -> &str {
    host.status.as_ref().map_or("", |status| &status.address)
}

/// Runs a controller that writes the address of each host, and counts its runs.
fn addressing(plane: &Plane) -> Arc<AtomicUsize> {
    let (hosts, runs) = (plane.objects::<Host>().unwrap(), Arc::new(AtomicUsize::new(0)));
    let counted = runs.clone();
    let reconcile = move |host: Arc<Host>, _: Run| {
        let (hosts, runs) = (hosts.clone(), counted.clone());
        async move {
            runs.fetch_add(1, Relaxed);
            let address = format!("10.0.{}.1", host.spec.rack);
            if address_of(&host) != address {
                hosts.update_status(&with_address(&host, &address)).await?;
            }
            Ok::<_, machinery::Error>(Next::Done)
        }
    };
    let controller = plane.controller::<Host>("hosts").unwrap();
    TaskTracker::new().spawn(async move { controller.run(reconcile).await });
    runs
}

/// One run for each foreign change, whose reconcile writes once.
async fn runs_once_per_change(plane: &Plane) {
    let hosts = plane.objects::<Host>().unwrap();
    let runs = addressing(plane);
    hosts.create(&host("h1", 1)).await.unwrap();
    for rack in 2..8 {
        let expected = format!("10.0.{}.1", rack - 1);
        until(|| hosts.get(&key()).is_some_and(|host| address_of(&host) == expected)).await;
        let mut moved = (*hosts.get(&key()).unwrap()).clone();
        moved.spec.rack = rack;
        hosts.update(&moved).await.unwrap();
    }
    until(|| address_of(&hosts.get(&key()).unwrap()) == "10.0.7.1").await;
    sleep(PAUSE).await;
    assert_eq!(runs.load(Relaxed), 7);
    plane.stop().await;
}

#[tokio::test]
async fn an_own_write_requests_no_run_on_both_transports() {
    runs_once_per_change(&machinery::embedded().kinds::<(Host,)>().start().await.unwrap()).await;
    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let client = Client::new(server.service(Identity::admin()), "default");
    runs_once_per_change(&machinery::kube_client(client).kinds::<(Host,)>().start().await.unwrap()).await;
    server.stop().await;
}

/// A patch that changes nothing returns the version of another writer, which is no own write.
async fn unchanged_patch(hosts: &Objects<Host>) {
    hosts.create(&host("h1", 1)).await.unwrap();
    let body = br#"{"spec":{"rack":5}}"#;
    let patch = Patch { format: PatchFormat::Merge, body: Arc::from(*body), status: false };
    let all = Preconditions::default();
    let first = hosts.patch(&key(), &patch, &all).await.unwrap().token.wrote;
    let again = hosts.patch(&key(), &patch, &all).await.unwrap().token.wrote;
    let WriteOutcome::Stored(version) = first else { panic!("{first:?}") };
    assert_eq!(again, WriteOutcome::Observed(version));
}

#[tokio::test]
async fn a_write_that_changed_nothing_is_told_from_one_that_did() {
    let plane = machinery::embedded().kinds::<(Host,)>().start().await.unwrap();
    unchanged_patch(&plane.objects::<Host>().unwrap()).await;
    let client = Client::new(plane.server().unwrap().service(Identity::admin()), "default");
    let remote = machinery::kube_client(client).start().await.unwrap();
    let hosts = remote.objects::<Host>().unwrap();
    hosts.delete(&key()).await.unwrap();
    unchanged_patch(&hosts).await;
    remote.stop().await;
    plane.stop().await;
}

#[tokio::test]
async fn a_write_fight_is_named_everywhere_and_slowed() {
    let plane = machinery::embedded().kinds::<(Host,)>().start().await.unwrap();
    let hosts = plane.objects::<Host>().unwrap();
    let runs = addressing(&plane);
    hosts.create(&host("h1", 1)).await.unwrap();
    // Its identity is the field manager of its writes.
    let identity = Identity::new("rival").in_group("system:masters");
    let rival = plane.beside().identity(identity).start().await.unwrap();
    let (theirs, undone) = (rival.objects::<Host>().unwrap(), Arc::new(AtomicUsize::new(0)));
    let counted = undone.clone();
    let undo = move |host: Arc<Host>, _: Run| {
        let (theirs, undone) = (theirs.clone(), counted.clone());
        async move {
            if address_of(&host) == "10.0.1.1" {
                theirs.update_status(&with_address(&host, "192.0.2.1")).await?;
                undone.fetch_add(1, Relaxed);
            }
            Ok::<_, machinery::Error>(Next::Done)
        }
    };
    let controller = rival.controller::<Host>("rival").unwrap();
    TaskTracker::new().spawn(async move { controller.run(undo).await });
    let metrics = || plane.metrics();
    until(|| metrics().contains("machinery_controller_write_fight_rate{")).await;
    let page = metrics();
    assert!(page.contains("field=\"status.address\""), "{page}");
    assert!(page.contains("manager=\"rival\""), "{page}");
    until(|| undone.load(Relaxed) >= 7).await;
    let at = plane.diagnostics("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let (_, whole) = get(at, "/debug/machinery.json").await;
    let (_, of_key) = get(at, "/debug/machinery.json?kind=hosts&object=default%2Fh1").await;
    for page in [whole, of_key] {
        let named = [r#""field": "status.address""#, r#""manager": "rival""#, r#""perSecond": "#];
        assert!(named.iter().all(|name| page.contains(name)), "{page}");
    }

    // Delays double: two seconds hold a few writes only.
    let before = runs.load(Relaxed);
    sleep(Duration::from_secs(2)).await;
    let more = runs.load(Relaxed) - before;
    assert!(more < 20, "{more} runs in two seconds");

    let reported = plane.objects::<ReportedEvent>().unwrap();
    let is_there = || {
        let all = reported.read();
        all.iter().any(|(_, event)| event.reason.as_deref() == Some("WriteFight"))
    };
    until(is_there).await;
    let events = reported.list(&Filter::default()).await.unwrap();
    let event = events.iter().find(|event| event.reason.as_deref() == Some("WriteFight")).unwrap();
    let note = event.note.as_deref().unwrap();
    let named = ["status.address", "hosts", "rival", "times a second"];
    assert!(named.iter().all(|name| note.contains(name)), "{note}");
    assert_eq!(event.regarding.as_ref().and_then(|of| of.name.as_deref()), Some("h1"));
    rival.stop().await;
    plane.stop().await;
}

/// A fight names the field manager, which needs a name.
#[tokio::test]
async fn a_plane_on_a_cluster_writes_under_the_name_of_its_program() {
    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let client = Client::new(server.service(Identity::admin()), "default");
    let plane = machinery::kube_client(client).kinds::<(Host,)>().start().await.unwrap();
    let written = plane.objects::<Host>().unwrap().create(&host("h1", 1)).await.unwrap().object;
    let managers: Vec<_> =
        written.metadata.managed_fields.iter().flatten().filter_map(|entry| entry.manager.clone()).collect();
    let program = std::path::PathBuf::from(std::env::args_os().next().unwrap());
    assert_eq!(managers, [program.file_name().unwrap().to_str().unwrap()]);
    plane.stop().await;
    server.stop().await;
}

/// A controller that writes its objects at full speed, while another client changes other fields.
#[tokio::test]
async fn a_lone_busy_writer_is_never_slowed() {
    const WRITES: u32 = 100;
    let plane = machinery::embedded().kinds::<(Host,)>().start().await.unwrap();
    let hosts = plane.objects::<Host>().unwrap();
    let counting = hosts.clone();
    let count = move |host: Arc<Host>, _: Run| {
        let hosts = counting.clone();
        async move {
            let count = address_of(&host).parse().unwrap_or(0_u32) + 1;
            if count > WRITES {
                return Ok(Next::Done);
            }
            hosts.update_status(&with_address(&host, &count.to_string())).await?;
            Ok::<_, machinery::Error>(Next::After(Duration::ZERO))
        }
    };
    let controller = plane.controller::<Host>("counts").unwrap().build().unwrap();
    let (running, stopping) = (controller.clone(), plane.stopping().clone());
    TaskTracker::new().spawn(async move { running.run(count, stopping).await });
    hosts.create(&host("h1", 1)).await.unwrap();
    let all = || hosts.get(&key()).is_some_and(|host| address_of(&host) == WRITES.to_string());
    let mut rack = 1;
    while !all() {
        rack += 1;
        let body = format!(r#"{{"spec":{{"rack":{rack}}}}}"#);
        let patch = Patch { format: PatchFormat::Merge, body: body.into_bytes().into(), status: false };
        hosts.patch(&key(), &patch, &Preconditions::default()).await.unwrap();
        sleep(Duration::from_millis(5)).await;
        assert!(controller.explain(&key()).fights.is_empty());
    }
    assert!(rack > 5, "the other client writes meanwhile");
    assert!(!plane.metrics().contains("write_fight_rate{"));
    plane.stop().await;
}

#[tokio::test]
async fn two_controllers_of_one_field_are_refused() {
    let plane = machinery::embedded().kinds::<(Host,)>().start().await.unwrap();
    let writing = |name: &str, field: &str| {
        plane.controller::<Host>(name).unwrap().writing::<Host>([field]).unwrap().build()
    };
    let first = writing("one", "status.address").unwrap();
    let refused = writing("two", "status").unwrap_err().to_string();
    assert!(refused.contains("status") && refused.contains("one") && refused.contains("two"), "{refused}");
    writing("three", "metadata.labels[rack]").unwrap();
    assert!(matches!(
        plane.controller::<Host>("four").unwrap().writing::<Host>(["status..x"]),
        Err(PlaneError::FieldPath { .. })
    ));
    // A field is free again after its controller.
    drop(first);
    writing("two", "status").unwrap();
    plane.stop().await;
}
