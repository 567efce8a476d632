//! A source of test objects, an informer of it, and a controller that the test drives.

use machinery_controllers::{Builder, Controller, Next, Reconcile, Run, RunError, Settings, ShutdownReport};
use machinery_informers::Informer;
use machinery_informers::testing::FakeSource;
use machinery_objects::{
    Capabilities, Fields, Kind, Labels, ListWatch, Object, ObjectKey, OwnerRef, ResourceVersion, Scope,
    Traceparent, Uid,
};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A test object with an optional owner.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) key: ObjectKey,
    pub(crate) version: Option<ResourceVersion>,
    pub(crate) uid: String,
    pub(crate) of: Option<&'static str>,
    pub(crate) text: String,
    pub(crate) trace: Option<Traceparent>,
}

pub(crate) fn part(key: &str) -> Part {
    let key = key.parse().expect("a key");
    Part { key, version: None, uid: String::new(), of: None, text: String::new(), trace: None }
}

impl Part {
    pub(crate) fn of(mut self, owner: &'static str) -> Self {
        self.of = Some(owner);
        self
    }

    pub(crate) fn in_trace(mut self, trace: Traceparent) -> Self {
        self.trace = Some(trace);
        self
    }

    pub(crate) fn says(mut self, text: &str) -> Self {
        self.text = text.into();
        self
    }
}

impl Object for Part {
    fn key(&self) -> ObjectKey {
        self.key.clone()
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.version.clone()
    }

    fn labels(&self) -> Labels {
        Labels::default()
    }

    fn uid(&self) -> Option<&str> {
        Some(&self.uid)
    }

    fn owners(&self) -> Vec<OwnerRef> {
        let owner = |name: &str| {
            let uid = Uid::new("1").expect("a uid");
            OwnerRef { name: name.into(), ..OwnerRef::controller(&whole(), &ObjectKey::unnamed(), uid) }
        };
        self.of.map(owner).into_iter().collect()
    }

    fn traceparent(&self) -> Option<Traceparent> {
        self.trace
    }
}

/// The kind of owners.
pub(crate) fn whole() -> Kind {
    Kind::new("example.com/v1", "Whole", "wholes", Scope::Namespaced).expect("a kind")
}

pub(crate) fn plane() -> FakeSource<Part> {
    plane_that(Capabilities::ALL)
}

pub(crate) fn plane_that(can: Capabilities) -> FakeSource<Part> {
    FakeSource::new(can, Fields::new([]), |part, version, uid| {
        part.version = Some(version);
        part.uid = uid.to_owned();
    })
}

/// Tasks of a test, cancelled on drop.
pub(crate) struct Fixture {
    pub(crate) tasks: TaskTracker,
    pub(crate) stopping: CancellationToken,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self { tasks: TaskTracker::new(), stopping: CancellationToken::new() }
    }

    pub(crate) fn informer(&self, plane: &FakeSource<Part>) -> Informer<Part> {
        let source: Arc<dyn ListWatch<Part>> = Arc::new(plane.clone());
        let informer = Informer::builder(source).build();
        self.tasks.spawn(informer.run(self.stopping.clone()));
        informer
    }

    /// Runs a controller until the token is cancelled.
    pub(crate) fn run<S: Send + Sync + 'static>(
        &self,
        controller: &Controller<ObjectKey, S>,
        reconcile: impl Reconcile<S>,
        stopping: &CancellationToken,
    ) -> JoinHandle<Result<ShutdownReport<ObjectKey>, RunError>> {
        let (controller, stopping) = (controller.clone(), stopping.clone());
        self.tasks.spawn(async move { controller.run(reconcile, stopping).await })
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.stopping.cancel();
    }
}

/// A run with a result that the test provides.
pub(crate) struct PendingRun<S> {
    pub(crate) subject: S,
    pub(crate) run: Run,
    answer: oneshot::Sender<Result<Next, String>>,
}

impl<S> PendingRun<S> {
    pub(crate) fn done(self) {
        self.answers(Ok(Next::Done));
    }

    pub(crate) fn answers(self, answer: Result<Next, String>) {
        let _ = self.answer.send(answer);
    }
}

/// A reconciler that sends each run to the test.
pub(crate) struct ControlledReconcile<S>(UnboundedSender<PendingRun<S>>);

pub(crate) fn controlled<S>() -> (ControlledReconcile<S>, UnboundedReceiver<PendingRun<S>>) {
    let (sends, started) = unbounded_channel();
    (ControlledReconcile(sends), started)
}

impl<S: Clone + Send + Sync + 'static> Reconcile<S> for ControlledReconcile<S> {
    type Error = String;

    fn reconcile(&self, subject: &S, run: &Run) -> impl Future<Output = Result<Next, String>> + Send {
        let (answer, answered) = oneshot::channel();
        let sent = self.0.send(PendingRun { subject: subject.clone(), run: run.clone(), answer });
        async move {
            sent.map_err(|_| "the test has ended")?;
            answered.await.unwrap_or_else(|_| Err("no answer".into()))
        }
    }
}

pub(crate) fn of(informer: &Informer<Part>) -> Builder<ObjectKey, Arc<Part>> {
    Controller::of("parts", informer)
}

pub(crate) fn settings() -> Settings {
    Settings::default()
}

/// Returns the next run; panics if there is none within an hour.
pub(crate) async fn next<S>(started: &mut UnboundedReceiver<PendingRun<S>>) -> PendingRun<S> {
    let next = tokio::time::timeout(Duration::from_secs(3600), started.recv()).await;
    next.expect("a run comes").expect("the controller runs")
}

/// Asserts that nothing runs for an hour.
pub(crate) async fn silence<S>(started: &mut UnboundedReceiver<PendingRun<S>>) {
    let next = tokio::time::timeout(Duration::from_secs(3600), started.recv()).await;
    assert!(next.is_err(), "nothing runs");
}
