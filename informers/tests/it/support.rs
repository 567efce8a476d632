//! A running informer on a fake source, in virtual time.

use std::collections::BTreeMap;
use std::future::Future;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use machinery_informers::testing::{FakeSource, TestObject};
use machinery_informers::{Builder, Index, Informer, ReflectorLimits};
use machinery_objects::{Capabilities, Event, ObjectKey, SourceError};
use machinery_sync::Mutex;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A source that can list its state, but not stream it.
pub(crate) const LISTS: Capabilities = {
    let mut can = Capabilities::ALL;
    can.watches_state = false;
    can
};

pub(crate) struct InformerFixture {
    pub(crate) fake: FakeSource<TestObject>,
    pub(crate) informer: Informer<TestObject>,
    pub(crate) by_place: Index<Arc<str>>,
    pub(crate) tasks: TaskTracker,
    pub(crate) stopping: CancellationToken,
}

impl InformerFixture {
    /// Returns a running informer.
    pub(crate) fn with(fake: FakeSource<TestObject>, set: impl FnOnce(&mut Builder<TestObject>)) -> Self {
        let rig = Self::idle(fake, set);
        rig.run();
        rig
    }

    /// Returns a running informer that is synced.
    pub(crate) async fn synced(fake: FakeSource<TestObject>) -> Self {
        let rig = Self::with(fake, |_| {});
        rig.informer.synced().await.unwrap();
        rig
    }

    pub(crate) fn idle(fake: FakeSource<TestObject>, set: impl FnOnce(&mut Builder<TestObject>)) -> Self {
        let mut builder = Informer::<TestObject>::builder(Arc::new(fake.clone()));
        let by_place = builder.index(|thing: &TestObject| [thing.place.clone()]);
        let mut limits = ReflectorLimits::default();
        limits.page = NonZeroU32::new(2).unwrap();
        builder.seed(7).limits(limits);
        set(&mut builder);
        let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
        Self { fake, informer: builder.build(), by_place, tasks, stopping }
    }

    pub(crate) fn run(&self) {
        self.tasks.spawn(self.informer.run(self.stopping.clone()));
    }

    /// Returns all cached objects as `key@text`.
    pub(crate) fn has(&self) -> String {
        let things = self.informer.read();
        let things: BTreeMap<_, _> = things.iter().collect();
        let things = things.values().map(|thing| format!("{}@{}", thing.key, thing.text));
        things.collect::<Vec<_>>().join(" ")
    }

    /// Advances the time, with bookmarks.
    pub(crate) async fn pass(&self, time: Duration) {
        let mut left = time;
        while !left.is_zero() {
            let slice = left.min(Duration::from_secs(30));
            sleep(slice).await;
            self.fake.bookmark();
            left -= slice;
        }
        settled().await;
    }

    /// Stops the informer, and checks that it leaves nothing.
    pub(crate) async fn stop(self) {
        self.stopping.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        assert_eq!(self.fake.calls().open_watches, 0, "a watch is left");
        assert!(self.informer.events().is_err());
    }
}

/// Waits until all tasks are idle.
pub(crate) async fn settled() {
    sleep(Duration::from_millis(1)).await;
}

/// Runs a test in virtual time.
pub(crate) fn virtually<R>(test: impl Future<Output = R>) -> R {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(test)
}

pub(crate) fn key(key: &str) -> ObjectKey {
    key.parse().unwrap()
}

pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) fn too_many(retry_after: u64) -> SourceError {
    SourceError::TooManyRequests { retry_after: Some(seconds(retry_after)) }
}

pub(crate) fn unavailable() -> SourceError {
    SourceError::Unavailable { reason: "it is not there".into(), retry_after: None }
}

/// The events of a handler, as text.
#[derive(Clone, Default)]
pub(crate) struct EventLog(Arc<Mutex<Vec<String>>>);

impl EventLog {
    pub(crate) fn recorder(&self) -> impl FnMut(Event<Arc<TestObject>>) + Send + 'static {
        let log = self.0.clone();
        move |event| log.lock().push(event_text(&event))
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock())
    }
}

pub(crate) fn event_text(event: &Event<Arc<TestObject>>) -> String {
    let of = |thing: &TestObject| format!("{}@{}", thing.key, thing.text);
    match event {
        Event::Added { object, initial: true } => format!("there {}", of(object)),
        Event::Added { object, .. } => format!("added {}", of(object)),
        Event::Updated { old, object } if old.uid != object.uid => format!("another {}", of(object)),
        Event::Updated { object, .. } => format!("updated {}", of(object)),
        Event::Deleted { last, final_state_known: true } => format!("deleted {}", of(last)),
        Event::Deleted { last, .. } => format!("vanished {}", of(last)),
        Event::Left { last, .. } => format!("left {}", of(last)),
        _ => "something else".into(),
    }
}
