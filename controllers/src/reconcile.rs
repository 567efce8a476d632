//! The reconciler, and the context of a run.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use machinery_informers::{Informer, InformerId, KeyedInformers, SelectorKey};
use machinery_objects::{Object, Traceparent, WriteToken};
use machinery_sync::Mutex;
use machinery_workqueue::{Causes, Key, Priority, Work};
use tokio_util::sync::CancellationToken;

pub use machinery_workqueue::Next;

/// Brings one subject to its desired state: an `Arc` of an object, or a key of any type.
///
/// It is called with the current state of the subject, for one subject never concurrently, and
/// again after every event that a source of the controller maps to it. It is level-triggered: it
/// reads the present state and needs no history. An error or a panic is retried with the back-off
/// of that subject alone.
///
/// Functions of owned arguments implement it: `|host: Arc<Host>, run: Run| async move { … }`.
pub trait Reconcile<S>: Send + Sync + 'static {
    /// Error of a run: logged, and shown in the diagnostics of the subject.
    type Error: fmt::Display + Send;

    /// Performs one run. The future may be dropped half-way, when it exceeds its time limit or the
    /// controller stops.
    fn reconcile(&self, subject: &S, run: &Run) -> impl Future<Output = Result<Next, Self::Error>> + Send;
}

impl<S, F, A, E> Reconcile<S> for F
where
    S: Clone + Send + Sync,
    F: Fn(S, Run) -> A + Send + Sync + 'static,
    A: Future<Output = Result<Next, E>> + Send,
    E: fmt::Display + Send,
{
    type Error = E;

    fn reconcile(&self, subject: &S, run: &Run) -> impl Future<Output = Result<Next, E>> + Send {
        self(subject.clone(), run.clone())
    }
}

/// Brings several subjects to their desired states in one call, for work that is cheaper together.
///
/// The keys of a batch are taken together, each as exclusive as a single one. Each has a result of
/// its own, and fails or is requeued alone. Writes belong to all keys of the batch.
///
/// Functions of owned arguments implement it: `|hosts: Vec<(Arc<Host>, Run)>| async move { … }`.
pub trait ReconcileBatch<S>: Send + Sync + 'static {
    /// Error of a key.
    type Error: fmt::Display + Send;

    /// Performs one run of all subjects, and returns their results in order. A subject without a
    /// result has failed. The future may be dropped half-way, as that of [`Reconcile`].
    fn reconcile_batch(
        &self,
        subjects: Vec<(S, Run)>,
    ) -> impl Future<Output = Vec<Result<Next, Self::Error>>> + Send;
}

impl<S, F, A, E> ReconcileBatch<S> for F
where
    S: Send,
    F: Fn(Vec<(S, Run)>) -> A + Send + Sync + 'static,
    A: Future<Output = Vec<Result<Next, E>>> + Send,
    E: fmt::Display + Send,
{
    type Error = E;

    fn reconcile_batch(&self, subjects: Vec<(S, Run)>) -> impl Future<Output = Vec<Result<Next, E>>> + Send {
        self(subjects)
    }
}

/// Returns a reconciler that passes a clone of `context` to each call of a function: `with(hosts,
/// set_address)`, where `async fn set_address(hosts: Objects<Host>, host: Arc<Host>, run: Run) ->
/// …`.
pub fn with<C, S, F, A, E>(context: C, reconcile: F) -> impl Reconcile<S, Error = E>
where
    C: Clone + Send + Sync + 'static,
    S: Clone + Send + Sync + 'static,
    F: Fn(C, S, Run) -> A + Send + Sync + 'static,
    A: Future<Output = Result<Next, E>> + Send,
    E: fmt::Display + Send + 'static,
{
    move |subject: S, run: Run| reconcile(context.clone(), subject, run)
}

/// A key that a controller can be requested to reconcile: an object key, or any other displayable
/// key.
pub trait Request: Key + Sync + fmt::Display {}

impl<K: Key + Sync + fmt::Display> Request for K {}

/// Context of one run: its causes, and the writes that the next run of the key has to see.
#[derive(Clone)]
#[non_exhaustive]
pub struct Run {
    /// Number of consecutive failures before this run.
    pub attempts: u16,
    /// Causes of the run.
    pub causes: Causes,
    /// Priority of the work item.
    pub priority: Priority,
    /// Time that the key was ready before the run.
    pub waited: Duration,
    pub(crate) trace: Option<Traceparent>,
    stopping: CancellationToken,
    writes: RunWrites,
}

/// Writes that a run has reported so far.
pub(crate) type RunWrites = Arc<Mutex<Vec<WriteWait>>>;

/// A write that a cache has to reach before the next run.
#[derive(Clone)]
pub(crate) struct WriteWait {
    pub(crate) token: WriteToken,
    /// The informer of the cache, if it has one.
    pub(crate) informer: Option<InformerId>,
    /// Waits up to a timeout until the cache has reached the write; returns whether it did.
    pub(crate) wait: Arc<dyn Fn(Duration) -> BoxFuture<'static, bool> + Send + Sync>,
}

impl WriteWait {
    pub(crate) fn new(token: &WriteToken, informer: &impl WriteTracker) -> Self {
        let id = informer.informer_id();
        let (informer, of) = (informer.clone(), token.clone());
        let wait = Arc::new(move |timeout| -> BoxFuture<'static, bool> {
            let (token, informer) = (of.clone(), informer.clone());
            Box::pin(async move { informer.wait_for_write(&token, timeout).await })
        });
        Self { token: token.clone(), informer: id, wait }
    }

    /// Returns whether the cache has reached the write already, without waiting or a request to the
    /// source.
    pub(crate) fn is_visible(&self) -> bool {
        (self.wait)(Duration::MAX).now_or_never() == Some(true)
    }
}

/// A cache that can be waited for until it has reached a write, such as an informer.
pub trait WriteTracker: Clone + Send + Sync + 'static {
    /// Waits until the cache has reached a write or passed it; returns `false` on a timeout.
    fn wait_for_write(&self, token: &WriteToken, timeout: Duration) -> impl Future<Output = bool> + Send;

    /// Returns the informer behind the cache. Where it is an event source of the controller, the
    /// event of the write requests no run of the key that wrote. By default none.
    fn informer_id(&self) -> Option<InformerId> {
        None
    }
}

impl Run {
    pub(crate) fn of<K: Key>(
        work: &Work<K>,
        causes: Causes,
        stopping: CancellationToken,
        writes: RunWrites,
    ) -> Self {
        let (attempts, priority, waited) = (work.attempts(), work.priority(), work.waited());
        Self { attempts, causes, priority, waited, trace: None, stopping, writes }
    }

    /// Reports a write of this run. Its event requests no run of this key, and the next run is
    /// delayed until the informer has reached the write or passed it, at most
    /// [`Settings::cache_timeout`](crate::Settings::cache_timeout). The delay survives a restart of
    /// the controller. Other keys are not delayed, and receive the event.
    ///
    /// Writers that [report](crate::report_write) their writes need no call; a second report of one
    /// write has no effect.
    pub fn wrote(&self, token: &WriteToken, informer: &impl WriteTracker) {
        record_write(&self.writes, token, informer);
    }

    /// Returns the trace context of this run. Writes within the run carry it; tasks that it spawns
    /// need to be [`traced`](machinery_objects::traced) with it.
    #[must_use]
    pub const fn traceparent(&self) -> Option<Traceparent> {
        self.trace
    }

    /// Returns the token that is cancelled when the controller stops: long waits should end with
    /// it.
    #[must_use]
    pub const fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Returns the shared list of reported writes, which outlives a dropped run.
    pub(crate) fn writes(&self) -> RunWrites {
        self.writes.clone()
    }

    /// Returns the writes reported so far.
    pub(crate) fn reported_writes(&self) -> Vec<WriteWait> {
        self.writes.lock().clone()
    }
}

/// Number of latest writes among which a second report of a write is found. A second report that is
/// not found is harmless: one cache is waited for twice.
const SECOND_REPORT: usize = 64;

/// Adds a write to those of a run, unless it was reported just before.
pub(crate) fn record_write(writes: &RunWrites, token: &WriteToken, informer: &impl WriteTracker) {
    let mut writes = writes.lock();
    let id = informer.informer_id();
    let is_known = |known: &WriteWait| id.is_some() && known.informer == id && known.token == *token;
    if !writes.iter().rev().take(SECOND_REPORT).any(is_known) {
        writes.push(WriteWait::new(token, informer));
    }
}

impl<T: Object> WriteTracker for Informer<T> {
    async fn wait_for_write(&self, token: &WriteToken, timeout: Duration) -> bool {
        self.wait_for(token, timeout).await.is_ok()
    }

    fn informer_id(&self) -> Option<InformerId> {
        Some(self.id())
    }
}

impl<F: SelectorKey, T: Object> WriteTracker for KeyedInformers<F, T> {
    async fn wait_for_write(&self, token: &WriteToken, timeout: Duration) -> bool {
        self.wait_for(token, timeout).await.is_ok()
    }

    fn informer_id(&self) -> Option<InformerId> {
        Some(self.id())
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("attempts", &self.attempts)
            .field("causes", &self.causes)
            .field("priority", &self.priority)
            .field("waited", &self.waited)
            .finish_non_exhaustive()
    }
}
