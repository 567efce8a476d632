//! A server with a Lease, and a faulty link to it.

use async_trait::async_trait;
use jiff::Timestamp;
use machinery_apiserver::{ApiServer, Handle, Identity};
use machinery_controllers::{ElectionConfig, ElectionPhase, Elector, LeadError, Lease, Term};
use machinery_informers::Informer;
use machinery_objects::{
    Capabilities, Deleted, Deletion, Fence, Freshness, Kind, Labels, ListError, ListRequest, ListWatch,
    Object, ObjectKey, Page, Preconditions, ResourceVersion, Scope, SourceError, WatchError, WatchRequest,
    WatchStream, WriteError, Writer, WriterCapabilities, Written,
};
use machinery_store::{Memory, Options};
use machinery_sync::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) const LEASE: &str = "kube-system/hosts";

/// A ConfigMap as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ConfigMapNote(pub(crate) Value);

pub(crate) fn note(name: &str, text: &str) -> ConfigMapNote {
    let metadata = json!({"name": name, "namespace": "default"});
    ConfigMapNote(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"text": text}}),
    )
}

impl ConfigMapNote {
    pub(crate) fn text(&self) -> &str {
        self.0["data"]["text"].as_str().unwrap()
    }
}

impl Object for ConfigMapNote {
    fn key(&self) -> ObjectKey {
        ObjectKey::new(Some("default"), self.0["metadata"]["name"].as_str().unwrap()).unwrap()
    }

    fn version(&self) -> Option<ResourceVersion> {
        ResourceVersion::new(self.0["metadata"]["resourceVersion"].as_str()?)
    }

    fn labels(&self) -> Labels {
        Labels::default()
    }
}

/// State of the link to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Open,
    /// Requests fail.
    Fails,
    /// Requests are lost, without a response.
    Silent,
    /// Writes arrive, and their responses are lost.
    LosesAnswers,
}

/// The Leases of a server, over a faulty link.
#[derive(Clone)]
pub(crate) struct Leases {
    handle: Handle<Lease>,
    way: Arc<Mutex<Link>>,
    pub(crate) has_fences: bool,
}

impl Leases {
    pub(crate) fn is(&self, way: Link) {
        *self.way.lock() = way;
    }

    async fn goes(&self) -> Result<(), SourceError> {
        let way = *self.way.lock();
        match way {
            Link::Open | Link::LosesAnswers => Ok(()),
            Link::Fails => Err(SourceError::Unavailable { reason: "cut".into(), retry_after: None }),
            Link::Silent => std::future::pending().await,
        }
    }

    fn comes_back<T>(&self, answer: T) -> Result<T, WriteError> {
        match *self.way.lock() {
            Link::LosesAnswers => Err(WriteError::UnknownOutcome { reason: "cut".into() }),
            _ => Ok(answer),
        }
    }
}

#[async_trait]
impl ListWatch<Arc<Lease>> for Leases {
    fn capabilities(&self) -> Capabilities {
        ListWatch::capabilities(&self.handle)
    }

    async fn list(&self, request: ListRequest) -> Result<Page<Arc<Lease>>, ListError> {
        self.goes().await?;
        self.handle.list(request).await
    }

    async fn watch(&self, request: WatchRequest) -> Result<WatchStream<Arc<Lease>>, WatchError> {
        self.handle.watch(request).await
    }

    async fn get(&self, key: &ObjectKey, fresh: Freshness) -> Result<Option<Arc<Lease>>, ListError> {
        self.goes().await?;
        self.handle.get(key, fresh).await
    }
}

#[async_trait]
impl Writer<Lease> for Leases {
    fn capabilities(&self) -> WriterCapabilities {
        let mut capabilities = Writer::capabilities(&self.handle);
        capabilities.fences = self.has_fences;
        capabilities
    }

    async fn create(&self, object: &Lease, fence: Option<&Fence>) -> Result<Written<Lease>, WriteError> {
        self.goes().await?;
        self.comes_back(self.handle.create(object, fence).await)?
    }

    async fn update(&self, object: &Lease, only_if: &Preconditions) -> Result<Written<Lease>, WriteError> {
        self.goes().await?;
        self.comes_back(self.handle.update(object, only_if).await)?
    }

    async fn update_status(
        &self,
        object: &Lease,
        only_if: &Preconditions,
    ) -> Result<Written<Lease>, WriteError> {
        self.handle.update_status(object, only_if).await
    }

    async fn delete(&self, key: &ObjectKey, deletion: &Deletion) -> Result<Deleted<Lease>, WriteError> {
        self.handle.delete(key, deletion).await
    }
}

pub(crate) struct ElectionFixture {
    pub(crate) server: ApiServer,
    pub(crate) tasks: TaskTracker,
    pub(crate) stopping: CancellationToken,
}

impl ElectionFixture {
    pub(crate) async fn new() -> Self {
        let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
        Self { server, tasks: TaskTracker::new(), stopping: CancellationToken::new() }
    }

    pub(crate) fn leases(&self) -> Leases {
        let handle = self.server.handle_of(Lease::kind(), Identity::admin());
        Leases { handle, way: Arc::new(Mutex::new(Link::Open)), has_fences: true }
    }

    pub(crate) fn notes(&self) -> Handle<ConfigMapNote> {
        let kind = Kind::new("v1", "ConfigMap", "configmaps", Scope::Namespaced).unwrap();
        self.server.handle_of(kind, Identity::admin())
    }

    pub(crate) fn informer(&self) -> Informer<ConfigMapNote> {
        let source: Arc<dyn ListWatch<Arc<ConfigMapNote>>> = Arc::new(self.notes());
        let informer = Informer::builder(source).build();
        self.tasks.spawn(informer.run(self.stopping.clone()));
        informer
    }

    pub(crate) async fn lease(&self) -> Value {
        let lease = self.leases().handle.get(&LEASE.parse().unwrap(), Freshness::Newest).await.unwrap();
        serde_json::to_value(&*lease.unwrap()).unwrap()
    }
}

impl Drop for ElectionFixture {
    fn drop(&mut self) {
        self.stopping.cancel();
    }
}

pub(crate) fn config(identity: &str) -> ElectionConfig {
    ElectionConfig::new(LEASE.parse().unwrap(), identity, identity.len() as u64)
}

/// A candidate with a stopped wall clock.
pub(crate) fn elector(identity: &str, leases: &Leases) -> Elector {
    Elector::new(config(identity), reads(leases), Arc::new(leases.clone()), || Timestamp::UNIX_EPOCH).unwrap()
}

/// A candidate with short timing, for tests in real time.
pub(crate) fn brief(identity: &str, leases: &Leases) -> Elector {
    let config = ElectionConfig {
        lease_duration: Duration::from_secs(1),
        renew_deadline: Duration::from_millis(700),
        retry_period: Duration::from_millis(100),
        ..config(identity)
    };
    Elector::new(config, reads(leases), Arc::new(leases.clone()), Timestamp::now).unwrap()
}

pub(crate) fn reads(leases: &Leases) -> Arc<dyn ListWatch<Arc<Lease>>> {
    Arc::new(leases.clone())
}

pub(crate) type LeadTask = JoinHandle<Result<Option<u64>, LeadError>>;

/// Work that reports each term, and ends with its token.
pub(crate) fn work(
    terms: UnboundedSender<Term>,
) -> impl Fn(Term) -> futures::future::BoxFuture<'static, u64> + Send + Sync {
    move |term| {
        let terms = terms.clone();
        Box::pin(async move {
            let _ = terms.send(term.clone());
            term.token().cancelled().await;
            term.epoch()
        })
    }
}

/// A running candidate and its terms.
pub(crate) struct RunningCandidate {
    pub(crate) elector: Elector,
    pub(crate) leases: Leases,
    pub(crate) terms: UnboundedReceiver<Term>,
    pub(crate) stopping: CancellationToken,
    pub(crate) leading: LeadTask,
}

impl RunningCandidate {
    pub(crate) fn new(fixture: &ElectionFixture, identity: &str) -> Self {
        let leases = fixture.leases();
        let (elector, stopping, (sender, terms)) =
            (elector(identity, &leases), CancellationToken::new(), unbounded_channel());
        let (leads, ends) = (elector.clone(), stopping.clone());
        let leading = fixture.tasks.spawn(async move { leads.lead(work(sender), ends).await });
        Self { elector, leases, terms, stopping, leading }
    }

    pub(crate) async fn leads(&mut self) -> Term {
        within(self.terms.recv()).await.expect("it stands")
    }

    pub(crate) async fn is(&self, phase: ElectionPhase) {
        until(|| self.elector.state().phase == phase).await;
    }
}

/// Waits up to an hour for a condition.
pub(crate) async fn until(is_so: impl Fn() -> bool) {
    let end = tokio::time::Instant::now() + Duration::from_secs(3600);
    while !is_so() {
        assert!(tokio::time::Instant::now() < end, "it is not so within an hour");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Awaits a future for up to an hour.
pub(crate) async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(3600), what).await.expect("it comes within an hour")
}
