//! Groups of controllers led by one Lease.

use crate::hosts::{Host, HostStatus, Rack, RackSpec, host, until};
use machinery::apiserver::{ApiServer, Identity};
use machinery::controllers::{Claim, ElectionConfig, Elector, NameLocks, Term};
use machinery::k8s_openapi::api::coordination::v1::Lease;
use machinery::kube::kube_client::Client;
use machinery::objects::{Conflict, Freshness, ListWatch, ObjectKey, Preconditions, WriteError, Writer};
use machinery::store::{Memory, Options};
use machinery::tokio::time::{Duration, timeout};
use machinery::tokio_util::task::TaskTracker;
use machinery::{LedShutdownReport, Next, Objects, Plane, Run, with};
use std::sync::Arc;
use tokio::sync::Notify;
use tokio::sync::mpsc::unbounded_channel;

const LEASE: &str = "default/all";

async fn served() -> (ApiServer, Client) {
    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let client = Client::new(server.service(Identity::admin()), "default");
    (server, client)
}

async fn plane(client: &Client) -> Plane {
    machinery::kube_client(client.clone()).kinds::<(Host, Rack)>().start().await.unwrap()
}

fn elector(plane: &Plane, identity: &str) -> Elector {
    plane.elector(ElectionConfig::new(LEASE.parse().unwrap(), identity, identity.len() as u64)).unwrap()
}

fn status(hosts: &Objects<Host>, name: &str) -> Option<String> {
    let host = hosts.get(&ObjectKey::new(Some("default"), name).unwrap())?;
    Some(host.status.clone()?.address)
}

#[derive(Clone)]
struct RackContext {
    hosts: Objects<Host>,
    locks: NameLocks<u32, Rack>,
    term: Term,
}

/// Writes the epoch of the term into the host's status.
async fn claim(names: RackContext, host: Arc<Host>, run: Run) -> machinery::Result<Next> {
    let RackContext { hosts, locks, term } = names;
    let says = match locks.claim(&*host, &host.spec.rack).await? {
        Claim::Held(_) => format!("has it in term {}", term.epoch()),
        Claim::Taken(by) => format!("waits for {by}"),
    };
    if host.status.as_ref().is_none_or(|status| status.address != says) {
        let host = Host { status: Some(HostStatus { address: says }), ..(*host).clone() };
        run.wrote(&hosts.fenced(term.fence()).update_status(&host).await?.token, &hosts);
    }
    Ok(Next::Done)
}

#[tokio::test(start_paused = true)]
async fn p06_two_planes_hand_over_all_controllers_of_a_lease() {
    let (server, client) = served().await;
    let hosts = server.handle::<Host>(Identity::admin());
    let mut epochs = Vec::new();
    for turn in 0..3_u64 {
        let other = plane(&client).await; // a candidate beside the leader
        let plane = plane(&client).await;
        let here = plane.objects::<Host>().unwrap();
        let (sender, mut counted) = unbounded_channel();
        let lead = |plane: &Plane, identity: &str| {
            let locks = plane.name_locks::<Host, _, _>(|_: &u32| Rack::new("", RackSpec {})).unwrap();
            let (hosts, sender) = (plane.objects::<Host>().unwrap(), sender.clone());
            let names = locks.clone();
            let claims = move |term: &Term| {
                let (hosts, locks, term) = (hosts.clone(), names.clone(), term.clone());
                with(RackContext { hosts, locks, term }, claim)
            };
            let counts = move |term: &Term| {
                let (sender, epoch) = (sender.clone(), term.epoch());
                move |_: Arc<Rack>, _: Run| {
                    let _ = sender.send(epoch);
                    async { Ok::<_, machinery::Error>(Next::Done) }
                }
            };
            let led = [
                plane.controller::<Host>("hosts").unwrap().claiming(&locks).unwrap().led(claims),
                plane.controller::<Rack>("racks").unwrap().led(counts),
            ];
            let elector = elector(plane, identity);
            (TaskTracker::new().spawn(plane.lead(&elector, led)), elector)
        };
        let (leading, elector) = lead(&plane, &format!("first of turn {turn}"));
        let names = ["a", "b"].map(|name| format!("{name}{turn}"));
        hosts.create(&host(&names[0], u32::try_from(turn).unwrap()), None).await.unwrap();
        until(|| status(&here, &names[0]).is_some()).await;
        hosts.create(&host(&names[1], u32::try_from(turn).unwrap()), None).await.unwrap();
        until(|| status(&here, &names[1]).is_some_and(|says| says.starts_with("waits for"))).await;
        let (standing, _) = lead(&other, &format!("second of turn {turn}"));
        epochs.push(elector.state().epoch.unwrap());
        assert_eq!(counted.recv().await, epochs.last().copied());

        plane.stop().await;
        let ended = leading.await.unwrap().unwrap().expect("it led until the plane was stopped");
        let expected = ["hosts", "racks"];
        assert_eq!(
            ended.iter().map(|LedShutdownReport { name, .. }| name.as_str()).collect::<Vec<_>>(),
            expected
        );
        // A waiter runs at the release of its name, under any leader.
        let there = other.objects::<Host>().unwrap();
        let epoch = elector.state().epoch.map_or(epochs[epochs.len() - 1] + 1, |epoch| epoch + 1);
        let says = format!("has it in term {epoch}");
        until(|| status(&there, &names[0]).as_ref() == Some(&says)).await;
        hosts.delete(&names_key(&names[0]), &machinery::objects::Deletion::default()).await.unwrap();
        until(|| status(&there, &names[1]).as_ref() == Some(&says)).await;
        other.stop().await;
        assert!(standing.await.unwrap().unwrap().is_some());
        hosts.delete(&names_key(&names[1]), &machinery::objects::Deletion::default()).await.unwrap();
    }
    assert!(epochs.is_sorted() && epochs[0] < epochs[2], "{epochs:?}");
    server.stop().await;
}

fn names_key(name: &str) -> ObjectKey {
    ObjectKey::new(Some("default"), name).unwrap()
}

/// Takes the Lease unconditionally and never renews it.
async fn steal(server: &ApiServer) {
    let leases = server.handle::<Lease>(Identity::admin());
    let lease = leases.get(&LEASE.parse().unwrap(), Freshness::Newest).await.unwrap().unwrap();
    let mut stolen = (*lease).clone();
    let spec = stolen.spec.as_mut().unwrap();
    spec.holder_identity = Some("thief".into());
    spec.lease_duration_seconds = Some(1);
    spec.lease_transitions = spec.lease_transitions.map(|count| count + 1);
    stolen.metadata.resource_version = None;
    leases.update(&stolen, &Preconditions::default()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn p06_a_run_that_lost_the_lease_writes_nothing_and_controllers_restart_with_the_next_term() {
    let (server, client) = served().await;
    let plane = plane(&client).await;
    let (hosts, racks) = (plane.objects::<Host>().unwrap(), plane.objects::<Rack>().unwrap());
    hosts.create(&host("a", 1)).await.unwrap();
    let (begins, mut begun) = unbounded_channel();
    let (sender, mut received) = unbounded_channel();
    let goes = Arc::new(Notify::new());
    let (writes, waits) = (hosts.clone(), goes.clone());
    let slow = move |term: &Term| {
        let (term, hosts, begins) = (term.clone(), writes.clone(), begins.clone());
        let (sender, goes) = (sender.clone(), waits.clone());
        move |host: Arc<Host>, _: Run| {
            let (term, hosts, begins) = (term.clone(), hosts.clone(), begins.clone());
            let (sender, goes) = (sender.clone(), goes.clone());
            async move {
                begins.send(term.epoch())?;
                goes.notified().await;
                let status = Some(HostStatus { address: term.epoch().to_string() });
                let hosts = hosts.fenced(term.fence());
                let wrote = hosts.update_status(&Host { status, ..(*host).clone() }).await;
                sender.send(wrote.map(drop))?;
                Ok::<_, machinery::Error>(Next::After(Duration::from_secs(3600)))
            }
        }
    };
    let (counts, mut counted) = unbounded_channel();
    let quick = move |term: &Term| {
        let (counts, epoch) = (counts.clone(), term.epoch());
        move |_: Arc<Rack>, _: Run| {
            let _ = counts.send(epoch);
            async { Ok::<_, machinery::Error>(Next::Done) }
        }
    };
    let mut rack = Rack::new("r", RackSpec {});
    rack.metadata.namespace = Some("default".into());
    racks.create(&rack).await.unwrap();
    let elector = elector(&plane, "only");
    let led = [
        plane.controller::<Host>("slow").unwrap().led(slow),
        plane.controller::<Rack>("quick").unwrap().led(quick),
    ];
    let leading = plane.lead(&elector, led);
    plane.spawn(async { leading.await.map(drop) });

    assert_eq!((begun.recv().await, counted.recv().await), (Some(0), Some(0)));
    let asked = |hosts: &Objects<Host>| {
        let counts = hosts.informer().state().counts;
        counts.lists + counts.watches
    };
    let before = asked(&hosts);
    steal(&server).await;
    until(|| elector.state().counts.lost == 1).await;
    goes.notify_one();
    let refused = received.recv().await.unwrap();
    assert!(matches!(refused, Err(WriteError::Conflict(Conflict::Fence(_)))), "{refused:?}");
    assert_eq!(status(&hosts, "a"), None);

    // The thief does not renew: the candidate leads again in the same process, and all controllers
    // run.
    assert_eq!((begun.recv().await, counted.recv().await), (Some(2), Some(2)));
    goes.notify_one();
    received.recv().await.unwrap().unwrap();
    until(|| status(&hosts, "a").as_deref() == Some("2")).await;
    assert_eq!(asked(&hosts), before, "caches stay warm");
    plane.stop().await;
    server.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_led_controller_runs_batches_in_each_term() {
    let (server, client) = served().await;
    let plane = plane(&client).await;
    let hosts = plane.objects::<Host>().unwrap();
    for name in ["a", "b", "c"] {
        hosts.create(&host(name, 1)).await.unwrap();
    }
    hosts.until(Duration::from_secs(60), |hosts| (hosts.read().len() == 3).then_some(())).await.unwrap();
    let (sender, mut batches) = unbounded_channel();
    let note = move |term: &Term| {
        let (sender, epoch) = (sender.clone(), term.epoch());
        move |all: Vec<(Arc<Host>, Run)>| {
            let _ = sender.send((epoch, all.len()));
            async move { all.iter().map(|_| Ok::<_, machinery::Error>(Next::Done)).collect() }
        }
    };
    let elector = elector(&plane, "only");
    let max = std::num::NonZeroUsize::new(2).unwrap();
    let alone = machinery::Settings { workers: 1, ..Default::default() };
    let led = plane.controller::<Host>("hosts").unwrap().settings(alone).led_batches(max, note);
    let leading = plane.lead(&elector, [led]);
    plane.spawn(async { leading.await.map(drop) });
    assert_eq!((batches.recv().await, batches.recv().await), (Some((0, 2)), Some((0, 1))));
    steal(&server).await;
    until(|| elector.state().counts.lost == 1).await;
    assert_eq!((batches.recv().await, batches.recv().await), (Some((2, 2)), Some((2, 1))));
    plane.stop().await;
    server.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_error_in_one_controller_stops_all_of_its_lease() {
    let (server, client) = served().await;
    let plane = plane(&client).await;
    let ending = plane.informer::<Host>().unwrap().build();
    let stops = machinery::tokio_util::sync::CancellationToken::new();
    TaskTracker::new().spawn(ending.run(stops.clone()));
    let by = machinery::objects::InterestBy::Field("metadata.name".into());
    let keyed = plane.keyed_informers(by, |host: &Host| host.metadata.name.clone()).unwrap().build();
    TaskTracker::new().spawn(keyed.run(stops.clone()));
    let reconcile = |_: &Term| |_: Arc<Host>, _: Run| async { Ok::<_, machinery::Error>(Next::Done) };
    let nobody = |_: &String, _: &machinery::objects::Event<Arc<Host>>| None::<ObjectKey>;
    let led = [
        plane.controller::<Host>("one").unwrap().led(reconcile),
        plane.controller::<Host>("two").unwrap().watching_keyed("keyed", &keyed, nobody).led(reconcile),
    ];
    let elector = elector(&plane, "only");
    let leading = TaskTracker::new().spawn(plane.lead(&elector, led));
    until(|| elector.state().counts.terms == 1).await;
    stops.cancel();
    let ended = timeout(Duration::from_secs(60), leading).await.expect("all end");
    let error = ended.unwrap().unwrap_err().to_string();
    assert!(error.contains("the informer of keyed has stopped"), "{error}");
    let lease = server.handle::<Lease>(Identity::admin());
    let lease = lease.get(&LEASE.parse().unwrap(), Freshness::Newest).await.unwrap().unwrap();
    assert_eq!(lease.spec.as_ref().unwrap().holder_identity.as_deref(), Some(""), "it is given back");
    plane.stop().await;
    server.stop().await;
}
