//! Informers of a real server over TLS, which restarts and compacts its history; they converge.

use std::borrow::Borrow;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use machinery_apiserver::{ApiServer, Handle, Identity, Listen};
use machinery_informers::{Informer, KeyedInformers, Lookup};
use machinery_kube::kube_client::config::{KubeConfigOptions, Kubeconfig};
use machinery_kube::kube_client::{Client, Config};
use machinery_kube::{Connections, KeyMetadata as Named, Remote, ServerProfile, client};
use machinery_objects::{
    Deletion, Filter, InterestBy, Kind, Labels, ListRequest, ListWatch, Object, ObjectKey, Preconditions,
    ResourceVersion, Revision, Scope, WriteOutcome, WriteToken, Writer,
};
use machinery_store::{Backend, Memory, Options};
use machinery_sync::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::on_the_server::{Note, event_text};

const PATIENCE: Duration = Duration::from_secs(30);

/// A server that can be stopped, and restarted with its store at the same address.
struct TestServer {
    home: tempfile::TempDir,
    store: Memory,
    address: SocketAddr,
    server: Option<ApiServer>,
    client: Client,
    notes: Remote<Note>,
}

impl TestServer {
    async fn start() -> Self {
        let (home, store) = (tempfile::tempdir().unwrap(), Memory::new(Options::default()));
        let server = serve(&store).await;
        let at = Listen::at("127.0.0.1:0".parse().unwrap(), home.path().join("pki"));
        let access = server.listen(at).await.unwrap();
        let kubeconfig = Kubeconfig::read_from(&access.kubeconfig).unwrap();
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
        let client = client(config, Connections::default()).unwrap();
        let notes = Remote::new(client.clone(), Note::kind(), ServerProfile::machinery());
        Self { home, store, address: access.address, server: Some(server), client, notes }
    }

    /// Restarts the server, with a write that no watch receives.
    async fn restart(&mut self, write: impl AsyncFnOnce(Handle<Note>) -> WriteToken) {
        self.again(write, false).await;
    }

    /// Restarts the server, with its history compacted.
    async fn restart_forgetful(&mut self, write: impl AsyncFnOnce(Handle<Note>) -> WriteToken) {
        self.again(write, true).await;
    }

    async fn again(&mut self, write: impl AsyncFnOnce(Handle<Note>) -> WriteToken, forgets: bool) {
        self.server.take().unwrap().stop().await;
        let alone = serve(&self.store).await;
        let written = write(alone.handle_of(Note::kind(), Identity::admin())).await;
        alone.stop().await;
        if let (true, WriteOutcome::Stored(version)) = (forgets, written.wrote) {
            self.store.compact(version.revision().unwrap()).await.unwrap();
        }
        let server = serve(&self.store).await;
        server.listen(Listen::at(self.address, self.home.path().join("pki"))).await.unwrap();
        self.server = Some(server);
    }

    /// Returns the selected objects as the server lists them.
    async fn has(&self, labels: &str) -> Vec<String> {
        let request = ListRequest { filter: only(labels), ..ListRequest::default() };
        let page = self.notes.list(request).await.unwrap();
        texts(page.items.iter())
    }

    async fn stop(self) {
        self.server.unwrap().stop().await;
    }
}

async fn serve(store: &Memory) -> ApiServer {
    ApiServer::builder(store.clone()).start().await.unwrap()
}

fn texts<N: Borrow<Note>>(notes: impl Iterator<Item = N>) -> Vec<String> {
    let text = |note: &Note| format!("{} {}", note.key().name(), note.data["text"]);
    let mut texts: Vec<_> = notes.map(|note| text(note.borrow())).collect();
    texts.sort();
    texts
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(Some("default"), name).unwrap()
}

fn only(labels: &str) -> Filter {
    Filter { labels: labels.parse().unwrap(), ..Filter::default() }
}

fn web(name: &str, text: &str) -> Note {
    Note::new(name, text).labeled("app", "web")
}

/// The delivered events, in order.
#[derive(Clone, Default)]
struct WireEventLog(Arc<Mutex<VecDeque<String>>>);

impl WireEventLog {
    fn record(&self, what: String) {
        self.0.lock().push_back(what);
    }

    /// Waits for the next event, which must be this one.
    async fn next(&self, expected: &str) {
        let next = async {
            loop {
                let next = self.0.lock().pop_front();
                match next {
                    Some(events) => return events,
                    None => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
        };
        let events = tokio::time::timeout(PATIENCE, next).await;
        assert_eq!(events.as_deref(), Ok(expected));
    }
}

#[tokio::test]
async fn an_informer_over_tls_converges_across_server_restarts() {
    let mut server = TestServer::start().await;
    let notes = server.notes.clone();
    notes.create(&web("a", "one"), None).await.unwrap();
    notes.create(&Note::new("no-web", "one"), None).await.unwrap();
    let source: Arc<dyn ListWatch<Note>> = Arc::new(notes.clone());
    let mut informer = Informer::<Note>::builder(source.clone());
    informer.filter(only("app=web"));
    let informer = informer.build();
    let (tasks, stopping, events) = (TaskTracker::new(), CancellationToken::new(), WireEventLog::default());
    tasks.spawn(informer.run(stopping.clone()));
    let recorder = events.clone();
    let handler = informer.add_handler(move |event| recorder.record(event_text(&event))).unwrap();
    handler.synced().await.unwrap();
    events.next("there a one").await;

    // A write is visible once it is reached, and is delivered.
    let b = notes.create(&web("b", "one"), None).await.unwrap();
    informer.wait_for(&b.token, PATIENCE).await.unwrap();
    assert_eq!(informer.get(&key("b")).unwrap().data["text"], "one");
    events.next("added b one").await;
    let b = notes.update(&b.object.with_text("two"), &Preconditions::default()).await.unwrap();
    informer.wait_for(&b.token, PATIENCE).await.unwrap();
    events.next("updated b two").await;
    notes.create(&web("c", "one"), None).await.unwrap();
    events.next("added c one").await;
    let gone = notes.delete(&key("c"), &Deletion::default()).await.unwrap();
    informer.wait_for(gone.token(), PATIENCE).await.unwrap();
    assert!(informer.get(&key("c")).is_none());
    events.next("deleted c one").await;

    // Leaving a selector is delivered as a deletion: watches over HTTP cannot distinguish it.
    assert!(!source.capabilities().reports_left);
    let left = notes.update(&b.object.labeled("app", "db"), &Preconditions::default()).await.unwrap();
    informer.wait_for(&left.token, PATIENCE).await.unwrap();
    assert!(informer.get(&key("b")).is_none());
    events.next("deleted b two").await;

    // The server restarts with a write in between: the watch resumes.
    let calls = informer.state().counts;
    server.restart(async |notes| notes.create(&web("d", "one"), None).await.unwrap().token).await;
    events.next("added d one").await;
    assert_eq!(informer.state().counts.lists, calls.lists);

    // Once more, with compacted history: the informer relists, and finds the deletion.
    server
        .restart_forgetful(async |notes| {
            notes.delete(&key("d"), &Deletion::default()).await.unwrap();
            notes.create(&web("e", "one"), None).await.unwrap().token
        })
        .await;
    events.next("deleted d one").await;
    events.next("added e one").await;
    let last = notes.create(&web("f", "one"), None).await.unwrap();
    informer.wait_for(&last.token, PATIENCE).await.unwrap();
    events.next("added f one").await;
    assert_eq!(texts(informer.read().iter().map(|(_, note)| &**note)), server.has("app=web").await);
    assert_eq!(informer.state().trouble, None);

    stopping.cancel();
    tasks.close();
    tasks.wait().await;
    server.stop().await;
}

fn on(rack: &str, name: &str, text: &str) -> Note {
    Note::new(name, text).labeled("rack", rack)
}

/// The same over one interest stream, and over a watch per key, which reports leaving as deletion.
async fn of_racks(per_key: bool) {
    let leaves = if per_key { "deleted" } else { "left" };
    let mut server = TestServer::start().await;
    let notes = server.notes.clone();
    let source: Arc<dyn ListWatch<Note>> = Arc::new(notes.clone());
    let by = InterestBy::Label("rack".into());
    let racks =
        KeyedInformers::builder(source, by, |note: &Note| note.labels().get("rack").map(str::to_owned));
    let racks = if per_key { racks.per_key() } else { racks }.build();
    let (tasks, stopping, events) = (TaskTracker::new(), CancellationToken::new(), WireEventLog::default());
    tasks.spawn(racks.run(stopping.clone()));
    let recorder = events.clone();
    // Objects under a key that is added to a stream are not initial.
    let text = |event: &_| event_text(event).replace("there", "added");
    let _handler =
        racks.add_handler(move |rack, event| recorder.record(format!("{rack}: {}", text(&event)))).unwrap();

    notes.create(&on("1", "a", "one"), None).await.unwrap();
    notes.create(&on("2", "b", "one"), None).await.unwrap();
    let one = racks.acquire("1".to_owned()).unwrap();
    one.synced().await.unwrap();
    events.next("1: added a one").await;
    assert!(matches!(racks.lookup(&key("a")), Lookup::Unique(rack, _) if rack == "1"));
    assert!(matches!(racks.lookup(&key("b")), Lookup::Absent));
    let c = notes.create(&on("1", "c", "one"), None).await.unwrap().object;
    events.next("1: added c one").await;
    let c = notes.update(&c.with_text("two"), &Preconditions::default()).await.unwrap().object;
    events.next("1: updated c two").await;
    let c = notes.update(&c.labeled("rack", "2"), &Preconditions::default()).await.unwrap().object;
    events.next(&format!("1: {leaves} c two")).await;
    notes.delete(&key("a"), &Deletion::default()).await.unwrap();
    events.next("1: deleted a one").await;

    // Another key is acquired, and the server restarts with a write in between.
    let two = racks.acquire("2".to_owned()).unwrap();
    two.synced().await.unwrap();
    events.next("2: added b one").await;
    events.next("2: added c two").await;
    server.restart(async |notes| notes.create(&on("1", "d", "one"), None).await.unwrap().token).await;
    events.next("1: added d one").await;
    server
        .restart_forgetful(async |notes| {
            notes.delete(&key("b"), &Deletion::default()).await.unwrap();
            notes.update(&c.with_text("three"), &Preconditions::default()).await.unwrap().token
        })
        .await;
    events.next("2: deleted b one").await;
    events.next("2: updated c three").await;

    // No event under a released key.
    drop(one);
    events.next("1: left d one").await;
    notes.create(&on("1", "e", "one"), None).await.unwrap();
    notes.create(&on("2", "f", "one"), None).await.unwrap();
    events.next("2: added f one").await;
    assert_eq!(texts(racks.read().iter().map(|(_, _, note)| &**note)), server.has("rack=2").await);

    stopping.cancel();
    tasks.close();
    tasks.wait().await;
    server.stop().await;
}

#[tokio::test]
async fn keyed_informers_over_tls_converge_on_one_stream() {
    of_racks(false).await;
}

#[tokio::test]
async fn keyed_informers_over_tls_converge_with_a_stream_per_key() {
    of_racks(true).await;
}

/// A cluster-scoped object.
#[derive(serde::Deserialize)]
struct Space {
    metadata: Named,
}

impl Object for Space {
    fn key(&self) -> ObjectKey {
        self.metadata.key.clone()
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.metadata.version.clone()
    }

    fn labels(&self) -> Labels {
        Labels::default()
    }
}

#[tokio::test]
async fn wait_for_reads_a_cluster_scoped_object_live() {
    let server = TestServer::start().await;
    let kind = Kind::new("v1", "Namespace", "namespaces", Scope::Cluster).unwrap();
    let source: Arc<dyn ListWatch<Space>> =
        Arc::new(Remote::<Space>::new(server.client.clone(), kind, ServerProfile::machinery()));
    let spaces = Informer::<Space>::builder(source).build();
    let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
    tasks.spawn(spaces.run(stopping.clone()));
    spaces.synced().await.unwrap();
    // No event reaches this version: the answer is a live read.
    let wrote = WriteOutcome::Stored(Revision(1_000_000).into());
    let token = WriteToken { key: "default".parse().unwrap(), uid: None, wrote };
    assert_eq!(spaces.wait_for(&token, Duration::from_millis(1)).await, Ok(()));

    stopping.cancel();
    tasks.close();
    tasks.wait().await;
    server.stop().await;
}
