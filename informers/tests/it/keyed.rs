//! Keyed informers on the real server, with one stream and with a stream per key.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use machinery_apiserver::{ApiServer, Handle, Identity};
use machinery_informers::{Interest, KeyedInformers, Lookup, Metrics, ReflectorLimits};
use machinery_objects::{
    Deletion, Event, InterestBy, Kind, Labels, ListWatch, Object, ObjectKey, Preconditions, ResourceVersion,
    Scope, Writer,
};
use machinery_store::{Memory, Options};
use machinery_sync::Mutex;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A ConfigMap with a network.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Port {
    pub(crate) metadata: PortMeta,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PortMeta {
    name: String,
    namespace: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resource_version: Option<String>,
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
}

impl Object for Port {
    fn key(&self) -> ObjectKey {
        ObjectKey::new(Some(&self.metadata.namespace), &self.metadata.name).unwrap()
    }
    fn version(&self) -> Option<ResourceVersion> {
        ResourceVersion::new(self.metadata.resource_version.as_deref()?)
    }
    fn labels(&self) -> Labels {
        self.metadata.labels.iter().collect()
    }
}

pub(crate) fn port(name: &str, vni: u32) -> Port {
    let labels = [("vni".to_owned(), vni.to_string())].into();
    Port {
        metadata: PortMeta { name: name.into(), namespace: "default".into(), resource_version: None, labels },
    }
}

pub(crate) fn vni(port: &Port) -> Option<u32> {
    port.metadata.labels.get("vni")?.parse().ok()
}

pub(crate) fn name(name: &str) -> ObjectKey {
    ObjectKey::new(Some("default"), name).unwrap()
}

/// A server, and informers keyed by network.
struct Site {
    _server: ApiServer,
    ports: Handle<Port>,
    informers: KeyedInformers<u32, Port>,
    tasks: TaskTracker,
    stopping: CancellationToken,
    delivered: Arc<Mutex<Vec<String>>>,
}

impl Site {
    async fn new(per_key: bool) -> Self {
        let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
        let kind = Kind::new("v1", "ConfigMap", "configmaps", Scope::Namespaced).unwrap();
        let ports: Handle<Port> = server.handle_of(kind, Identity::admin());
        let source: Arc<dyn ListWatch<Arc<Port>>> = Arc::new(ports.clone());
        let builder = KeyedInformers::builder(source, InterestBy::Label("vni".into()), vni);
        let informers = if per_key { builder.per_key() } else { builder }.build();
        let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
        tasks.spawn(informers.run(stopping.clone()));
        let delivered = Arc::new(Mutex::new(Vec::new()));
        let sender = delivered.clone();
        let handler = informers.add_handler(move |vni, event| {
            let what = match event {
                Event::Added { .. } => "added",
                Event::Updated { .. } => "updated",
                Event::Deleted { .. } => "deleted",
                Event::Left { because, .. } => match because {
                    machinery_objects::LeaveReason::Changed => "left",
                    machinery_objects::LeaveReason::Released => "released",
                },
                _ => "?",
            };
            let name = &event.object().metadata.name;
            sender.lock().push(format!("{vni} {what} {name}"));
        });
        handler.unwrap().detach();
        Self { _server: server, ports, informers, tasks, stopping, delivered }
    }

    async fn acquire(&self, vni: u32) -> Interest<u32, Port> {
        let interest = self.informers.acquire(vni).unwrap();
        interest.synced().await.unwrap();
        interest
    }

    async fn create(&self, name: &str, vni: u32) -> Port {
        self.ports.create(&port(name, vni), None).await.unwrap().object
    }

    async fn move_to(&self, port: &mut Port, vni: u32) {
        port.metadata.labels.insert("vni".into(), vni.to_string());
        *port = self.ports.update(port, &Preconditions::default()).await.unwrap().object;
    }

    /// Returns the delivered events, once there are this many.
    async fn delivered(&self, count: usize) -> Vec<String> {
        for _ in 0..1_000 {
            if self.delivered.lock().len() >= count {
                return std::mem::take(&mut *self.delivered.lock());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{:?} is less than {count}", self.delivered.lock());
    }

    async fn stop(self) {
        self.stopping.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

fn unique(lookup: &Lookup<u32, Arc<Port>>) -> Option<u32> {
    match lookup {
        Lookup::Unique(vni, _) => Some(*vni),
        _ => None,
    }
}

async fn interests_are_acquired_and_released(per_key: bool) {
    let site = Site::new(per_key).await;
    let mut a = site.create("a", 17).await;
    site.create("b", 18).await;
    let first = site.acquire(17).await;
    assert_eq!(unique(&site.informers.lookup(&name("a"))), Some(17));
    assert!(matches!(site.informers.lookup(&name("b")), Lookup::Absent));
    assert_eq!(site.delivered(1).await, ["17 added a"]);
    let again = site.acquire(17).await;
    let other = site.acquire(18).await;
    assert_eq!(site.delivered(1).await, ["18 added b"]);
    drop(first);
    site.move_to(&mut a, 18).await;
    // The order of events of two streams is undefined.
    let mut delivered = site.delivered(2).await;
    delivered.sort_unstable();
    let went = if per_key { "17 deleted a" } else { "17 left a" };
    assert!(delivered == [went, "18 added a"] || delivered == ["17 left a", "18 added a"], "{delivered:?}");
    assert_eq!(unique(&site.informers.lookup(&name("a"))), Some(18));
    drop(other);
    assert!(matches!(site.informers.lookup(&name("a")), Lookup::Absent), "the drop has let go");
    let mut delivered = site.delivered(2).await;
    delivered.sort_unstable();
    assert_eq!(delivered, ["18 released a", "18 released b"]);
    site.move_to(&mut a, 17).await;
    assert_eq!(site.delivered(1).await, ["17 added a"]);
    site.ports.delete(&name("a"), &Deletion::default()).await.unwrap();
    assert_eq!(site.delivered(1).await, ["17 deleted a"]);
    drop(again);
    let metrics = Metrics::new();
    metrics.watch_keyed("ports", &site.informers).unwrap();
    assert!(metrics.watch_keyed("ports", &site.informers).is_err(), "the name is taken");
    let mut registry = Registry::default();
    registry.register_collector(Box::new(metrics));
    let mut page = String::new();
    encode(&mut page, &registry).unwrap();
    for line in ["keys{name=\"ports\"} 0", "handlers{name=\"ports\"} 1", "handler_panics{name=\"ports\"} 0"] {
        assert!(page.contains(&format!("machinery_informer_{line}\n")), "{page}");
    }
    let state = site.informers.state();
    assert_eq!((state.keys, state.names, state.interests), (0, 0, 0));
    site.stop().await;
}

#[tokio::test]
async fn interests_are_acquired_and_released_on_one_stream() {
    interests_are_acquired_and_released(false).await;
}

#[tokio::test]
async fn interests_are_acquired_and_released_with_a_stream_per_key() {
    interests_are_acquired_and_released(true).await;
}

async fn short_interests_leave_nothing(per_key: bool) {
    let site = Site::new(per_key).await;
    for vni in 0..20 {
        site.create(&format!("port-{vni}"), vni).await;
    }
    let stays = site.acquire(0).await;
    let of = || {
        let state = site.informers.state();
        let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        (state.keys, state.interests, state.names, state.streams, tasks)
    };
    let before = of();
    for turn in 0..10_000 {
        let held = site.informers.acquire(turn % 20).unwrap();
        if turn % 25 == 0 {
            held.synced().await.unwrap();
        } else if turn % 3 == 0 {
            tokio::task::yield_now().await;
        }
    }
    // The server notices closed watches only after a while.
    for _ in 0..1_000 {
        if of() == before {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(of(), before);
    let counts = site.informers.state().counts;
    if !per_key {
        assert_eq!(counts.opened, 1, "it is one stream all the time");
        assert!((400..20_000).contains(&counts.edits), "{counts:?}");
    }
    assert_eq!(counts.troubles, 0);
    drop(stays);
    site.stop().await;
}

#[tokio::test]
async fn short_interests_on_one_stream_leave_nothing() {
    short_interests_leave_nothing(false).await;
}

#[tokio::test]
async fn short_interests_with_a_stream_per_key_leave_nothing() {
    short_interests_leave_nothing(true).await;
}

#[tokio::test]
async fn keys_beyond_the_request_limit_are_added_by_edits() {
    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let kind = Kind::new("v1", "ConfigMap", "configmaps", Scope::Namespaced).unwrap();
    let ports: Handle<Port> = server.handle_of(kind, Identity::admin());
    for vni in 0..100 {
        ports.create(&port(&format!("port-{vni}"), vni), None).await.unwrap();
    }
    let source: Arc<dyn ListWatch<Arc<Port>>> = Arc::new(ports.clone());
    let mut limits = ReflectorLimits::default();
    limits.edit_bytes = 40;
    let informers =
        KeyedInformers::builder(source, InterestBy::Label("vni".into()), vni).limits(limits).build();
    let held: Vec<_> = (0..100).map(|vni| informers.acquire(vni).unwrap()).collect();
    let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
    tasks.spawn(informers.run(stopping.clone()));
    for interest in &held {
        interest.synced().await.unwrap();
    }
    assert_eq!(informers.read().len(), 100);
    let counts = informers.state().counts;
    // Ten one-digit and ninety two-digit keys, with their separators.
    assert_eq!((counts.opened, counts.edits, counts.events), (1, 12, 100));
    let token = ports.create(&port("another", 50), None).await.unwrap().token;
    informers.wait_for(&token, Duration::from_secs(10)).await.unwrap();
    assert_eq!(informers.read().count(&50), 2);
    stopping.cancel();
    tasks.close();
    tasks.wait().await;
}
