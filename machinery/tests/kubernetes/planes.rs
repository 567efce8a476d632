//! A plane on Kubernetes: leader election, name locks, events and diagnostics.

use crate::cluster::{client, namespace};
use machinery::controllers::{Claim, ElectionConfig, NameLocks, NoFences, Note, Recorder, Term};
use machinery::informers::Lookup;
use machinery::k8s_openapi::api::core::v1::Event;
use machinery::objects::{InterestBy, ObjectKey, Preconditions, SourceError, WriteError};
use machinery::tokio::time::{Duration, Instant, sleep};
use machinery::tokio_util::task::TaskTracker;
use machinery::{Next, Objects, Run, with};
use std::sync::Arc;

machinery::kinds! {
    #[kube(group = "planes.example.com", version = "v1", kind = "Port", namespaced, status = "PortStatus")]
    pub struct PortSpec {
        pub name: String,
    }
    #[derive(PartialEq)]
    pub struct PortStatus {
        pub says: String,
    }
    #[kube(group = "planes.example.com", version = "v1", kind = "PortName", namespaced)]
    pub struct PortNameSpec {}
}

const PATIENCE: Duration = Duration::from_secs(60);

async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so().await {
        assert!(Instant::now() < end, "{what}");
        sleep(Duration::from_millis(20)).await;
    }
}

fn port(namespace: &str, name: &str, wants: &str) -> Port {
    let mut port = Port::new(name, PortSpec { name: wants.into() });
    port.metadata.namespace = Some(namespace.into());
    port.metadata.labels = Some([("wants".into(), wants.into())].into());
    port
}

#[derive(Clone)]
struct PortContext {
    ports: Objects<Port>,
    locks: NameLocks<String, PortName>,
    recorder: Recorder,
    term: Term,
}

async fn name(at: PortContext, port: Arc<Port>, run: Run) -> machinery::Result<Next> {
    let says = match at.locks.claim(&*port, &port.spec.name).await? {
        Claim::Held(held) => {
            run.wrote(held.token(), at.locks.informer());
            assert_eq!(held.fence(), Err(NoFences), "Kubernetes would not hold it");
            format!("has it in term {}", at.term.epoch())
        }
        Claim::Taken(by) => format!("waits for {by}"),
    };
    if port.status.as_ref().is_none_or(|status| status.says != says) {
        at.recorder.note(Note::normal(at.ports.about(&port), "Named", &says));
        let port = Port { status: Some(PortStatus { says }), ..(*port).clone() };
        run.wrote(&at.ports.update_status(&port).await?.token, &at.ports);
    }
    Ok(Next::Done)
}

#[tokio::test]
async fn a_controller_leads_claims_records_events_and_is_observable() {
    let client = client().await;
    let space = namespace(&client, "planes").await;
    for (round, candidate) in ["one", "two"].into_iter().enumerate() {
        let plane = machinery::kube_client(client.clone()).kinds::<(Port, PortName)>().start().await.unwrap();
        let (ports, events) = (plane.objects::<Port>().unwrap(), plane.objects::<Event>().unwrap());
        let at = plane.diagnostics("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let lease = ObjectKey::new(Some(&space), "ports").unwrap();
        let elector = plane.elector(ElectionConfig::new(lease, candidate, 7)).unwrap();
        let locks = plane.name_locks::<Port, _, _>(|_: &String| PortName::new("", PortNameSpec {})).unwrap();
        let recorder = plane.recorder("ports");
        let controller = plane.controller::<Port>("ports").unwrap().claiming(&locks).unwrap();
        let (all, stands) = (ports.clone(), elector.clone());
        let reconcile = move |term: &Term| {
            let (ports, locks, recorder) = (all.clone(), locks.clone(), recorder.clone());
            with(PortContext { ports, locks, recorder, term: term.clone() }, name)
        };
        let tasks = TaskTracker::new();
        let running = tasks.spawn(async move { controller.run_leading(&stands, reconcile).await });
        until("it leads", async || elector.state().epoch.is_some()).await;
        let epoch = elector.state().epoch.unwrap();
        let says = |name: &str, what: &str| {
            let port = ports.get(&ObjectKey::new(Some(&space), name).unwrap());
            port.and_then(|port| port.status.clone()).is_some_and(|status| status.says == what)
        };
        let has_it = format!("has it in term {epoch}");

        if round == 0 {
            ports.create(&port(&space, "p0", "a")).await.unwrap();
            until("the first has the name", async || says("p0", &has_it)).await;
            let made = ports.create(&port(&space, "p1", "a")).await.unwrap().object;
            until("the second waits", async || says("p1", "waits for Port p0")).await;
            // Deletion of the first port's lock is up to the server's garbage collector.
            ports.delete(&ObjectKey::new(Some(&space), "p0").unwrap()).await.unwrap();
            until("who waits has it", async || says("p1", &has_it)).await;
            until("what is noted is an event", async || {
                events.read().iter().any(|(_, event)| {
                    event.involved_object.uid == made.metadata.uid
                        && event.message.as_deref().is_some_and(|message| message.contains("has it"))
                })
            })
            .await;
            let stale = ports.create(&port(&space, "p1", "b")).await;
            assert!(matches!(stale, Err(WriteError::AlreadyExists { .. })), "{stale:?}");
            let under = Preconditions { fence: Some(fence(&elector, &space)), ..Preconditions::default() };
            let refused = ports.writer().update_status(&made, &under).await;
            assert!(
                matches!(refused, Err(WriteError::Source(SourceError::Unsupported { .. }))),
                "{refused:?}"
            );
        } else {
            until("the next term says so", async || says("p1", &has_it)).await;
        }
        keyed(&plane, &space).await;
        let page = get(at, &format!("/debug/machinery.json?kind=port&object={space}%2Fp1")).await;
        let explained = machinery::explain("port", &page).unwrap();
        assert!(explained.contains("done"), "{explained}");
        let metrics = get(at, "/metrics").await;
        assert!(
            metrics.contains(r#"machinery_controller_runs_total{name="ports",result="done"}"#),
            "{metrics}"
        );
        assert!(get(at, "/readyz").await.ends_with("ok\n"));
        plane.stop().await;
        assert!(running.await.unwrap().unwrap().is_some(), "it led until the plane was stopped");
    }
}

fn fence(elector: &machinery::controllers::Elector, space: &str) -> machinery::objects::Fence {
    machinery::objects::Fence {
        kind: machinery::controllers::Lease::kind(),
        key: ObjectKey::new(Some(space), "ports").unwrap(),
        uid: machinery::objects::Uid::new("none").unwrap(),
        epoch: elector.state().epoch,
        besides: None,
    }
}

/// One stream per key, as Kubernetes has no interests.
async fn keyed(plane: &machinery::Plane, space: &str) {
    let by = InterestBy::Label("wants".into());
    let wants = |port: &Port| port.metadata.labels.as_ref().and_then(|all| all.get("wants").cloned());
    let informers = plane.keyed_informers::<Port, String>(by, wants).unwrap().build();
    plane.run(|stopping| informers.run(stopping));
    let interest = informers.acquire("a".to_owned()).unwrap();
    let key = ObjectKey::new(Some(space), "p1").unwrap();
    until("the acquired key is cached", async || matches!(informers.lookup(&key), Lookup::Unique(..))).await;
    drop(interest);
}

async fn get(at: std::net::SocketAddr, path: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(at).await.unwrap();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    body.to_owned()
}
