//! Promise 13: the event recorder.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use machinery_apiserver::{ApiServer, Handle, Identity};
use machinery_controllers::{EventLimits, EventObject, Note, Recorder, RecorderCounts};
use machinery_objects::{
    Deleted, Deletion, Fence, Kind, ListRequest, ListWatch, Object, ObjectKey, ObjectRef, Preconditions,
    Scope, WriteError, Writer, WriterCapabilities, Written,
};
use machinery_store::{Memory, Options};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

fn clock() -> Timestamp {
    Timestamp::from_second(1_795_000_000).unwrap()
}

struct RecorderFixture {
    server: ApiServer,
    events: Handle<Event>,
    recorder: Recorder,
}

async fn scene() -> RecorderFixture {
    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let events = server.handle::<Event>(Identity::admin());
    let writer = Arc::new(server.handle_of::<EventObject>(EventObject::kind(), Identity::admin()));
    let recorder = Recorder::new("hosts", writer, clock, EventLimits::default());
    RecorderFixture { server, events, recorder }
}

fn about(key: &str) -> ObjectRef {
    let kind = Kind::new("net.example.com/v1", "Host", "hosts", Scope::Namespaced).unwrap();
    ObjectRef { kind, key: key.parse().unwrap(), uid: None }
}

impl RecorderFixture {
    async fn all(&self) -> Vec<(Option<i32>, Option<String>)> {
        let page = self.events.list(ListRequest::default()).await.unwrap();
        page.items.iter().map(|event: &Arc<Event>| (event.count, event.message.clone())).collect()
    }

    async fn wrote(&self, written: u64) {
        let end = tokio::time::Instant::now() + Duration::from_secs(60);
        while self.recorder.counts().written < written && tokio::time::Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(self.recorder.counts().written, written, "{:?}", self.recorder.counts());
    }
}

#[tokio::test]
async fn p13_notes_become_kubernetes_events() {
    let scene = scene().await;
    let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
    tasks.spawn(scene.recorder.run(stopping.clone()));
    for _ in 0..3 {
        scene.recorder.note(Note::warning(about("default/db-0"), "AddressTaken", "10.0.0.7 is db-1's"));
    }
    scene.wrote(3).await;
    assert_eq!(scene.all().await, [(Some(3), Some("10.0.0.7 is db-1's".into()))]);

    let page = scene.events.list(ListRequest::default()).await.unwrap();
    scene.events.delete(&page.items[0].key(), &Deletion::default()).await.unwrap();
    scene.recorder.note(Note::warning(about("default/db-0"), "AddressTaken", "10.0.0.7 is db-1's"));
    scene.wrote(4).await;
    assert_eq!(
        scene.all().await,
        [(Some(1), Some("10.0.0.7 is db-1's".into()))],
        "events do not live for ever"
    );

    // The queue is flushed at the end; rejected events are counted.
    scene.recorder.note(Note::normal(about("default/db-1"), "Ready", "it is"));
    scene.recorder.note(Note::normal(about("nowhere/db-1"), "Ready", "its namespace is not there"));
    stopping.cancel();
    tasks.close();
    tasks.wait().await;
    let counts = scene.recorder.counts();
    assert_eq!((counts.written, counts.failed), (5, 1), "{counts:?}");
    assert_eq!(scene.all().await.len(), 2);

    // As after regaining leadership.
    let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
    tasks.spawn(scene.recorder.run(stopping.clone()));
    scene.recorder.note(Note::normal(about("default/db-2"), &"R".repeat(500), "x".repeat(5000)));
    scene.wrote(6).await;
    stopping.cancel();
    tasks.close();
    tasks.wait().await;
    scene.server.stop().await;
}

#[tokio::test]
async fn p13_a_full_queue_drops_and_counts_notes_without_blocking() {
    let scene = scene().await;
    for i in 0..2000 {
        scene.recorder.note(Note::normal(about(&format!("default/h{i}")), "Ready", "it is"));
    }
    assert_eq!(scene.recorder.counts(), {
        let mut counts = RecorderCounts::default();
        counts.queue_full = 2000 - 1024;
        counts
    });
    scene.server.stop().await;
}

/// A writer that never responds.
struct UnresponsiveWriter;

#[async_trait::async_trait]
impl Writer<EventObject> for UnresponsiveWriter {
    fn capabilities(&self) -> WriterCapabilities {
        WriterCapabilities::ALL
    }

    async fn create(&self, _: &EventObject, _: Option<&Fence>) -> Result<Written<EventObject>, WriteError> {
        std::future::pending().await
    }

    async fn update(&self, _: &EventObject, _: &Preconditions) -> Result<Written<EventObject>, WriteError> {
        std::future::pending().await
    }

    async fn update_status(
        &self,
        _: &EventObject,
        _: &Preconditions,
    ) -> Result<Written<EventObject>, WriteError> {
        std::future::pending().await
    }

    async fn delete(&self, _: &ObjectKey, _: &Deletion) -> Result<Deleted<EventObject>, WriteError> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn p13_an_unresponsive_server_delays_shutdown_by_ten_seconds() {
    let recorder = Recorder::new("hosts", Arc::new(UnresponsiveWriter), clock, EventLimits::default());
    let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
    let run = tasks.spawn(recorder.run(stopping.clone()));
    for i in 0..7 {
        recorder.note(Note::normal(about(&format!("default/h{i}")), "Ready", "it is"));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    stopping.cancel();
    let began = tokio::time::Instant::now();
    run.await.unwrap();
    assert_eq!((began.elapsed().as_secs(), recorder.counts().failed), (10, 7));
}
