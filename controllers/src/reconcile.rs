//! What a controller does, and what it is told of each run.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use machinery_informers::{Informer, KeyedInformers, Text};
use machinery_objects::{Object, Traceparent, WriteToken};
use machinery_sync::Mutex;
use machinery_workqueue::{Causes, Key, Priority, Work};
use tokio_util::sync::CancellationToken;

pub use machinery_workqueue::Next;

/// Brings the world to what one subject says: an `Arc` of an object, or a key of yours.
///
/// It is called with the subject as it is now, never twice at once for one, and again whenever something changed that a source of the
/// controller told of. So it looks at what is, and needs to know nothing of what happened. An error or a panic is a run again
/// after a back-off of that subject alone.
///
/// Functions of owned arguments are one, too: `|host: Arc<Host>, run: Run| async move { … }`.
pub trait Reconcile<S>: Send + Sync + 'static {
    /// What goes wrong: it is logged, and shown with the subject.
    type Error: fmt::Display + Send;

    /// One run. Where it is dropped (it took too long, or the controller stops) it may have done a part of it.
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

/// A reconcile of a function and what it works with, of which each run has a clone: `with(hosts, set_address)`, where
/// `async fn set_address(hosts: Objects<Host>, host: Arc<Host>, run: Run) -> …`.
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

/// What a controller can be asked for: the key of an object, or a text, a number, whatever names a subject in logs.
pub trait Request: Key + Sync + fmt::Display {}

impl<K: Key + Sync + fmt::Display> Request for K {}

/// One run: why it is, and what the next one of the same key must be able to see.
#[derive(Clone)]
#[non_exhaustive]
pub struct Run {
    /// How often it has failed in a row before this one.
    pub attempts: u16,
    /// Why it is.
    pub causes: Causes,
    /// How urgent.
    pub priority: Priority,
    /// How long its key was ready.
    pub waited: Duration,
    pub(crate) trace: Option<Traceparent>,
    stopping: CancellationToken,
    writes: RunWrites,
}

/// What a run says that it wrote, while it runs.
pub(crate) type RunWrites = Arc<Mutex<Vec<WriteWait>>>;

/// A write that is to be read before the next run.
#[derive(Clone)]
pub(crate) struct WriteWait {
    pub(crate) token: WriteToken,
    /// Waits for so long until it can be read, and says whether it can.
    pub(crate) wait: Arc<dyn Fn(Duration) -> BoxFuture<'static, bool> + Send + Sync>,
}

impl WriteWait {
    pub(crate) fn new(token: &WriteToken, informer: &impl WriteTracker) -> Self {
        let (informer, of) = (informer.clone(), token.clone());
        let wait = Arc::new(move |timeout| -> BoxFuture<'static, bool> {
            let (token, informer) = (of.clone(), informer.clone());
            Box::pin(async move { informer.wait_for_write(&token, timeout).await })
        });
        Self { token: token.clone(), wait }
    }

    /// Whether it can be read now, without waiting or asking anybody.
    pub(crate) fn is_visible(&self) -> bool {
        (self.wait)(Duration::MAX).now_or_never() == Some(true)
    }
}

/// What shows writes: an informer.
pub trait WriteTracker: Clone + Send + Sync + 'static {
    /// Waits until it shows a write or is past it; whether it does in time.
    fn wait_for_write(&self, token: &WriteToken, timeout: Duration) -> impl Future<Output = bool> + Send;
}

impl Run {
    pub(crate) fn of<K: Key>(work: &Work<K>, causes: Causes, stopping: CancellationToken) -> Self {
        let (attempts, priority, waited) = (work.attempts(), work.priority(), work.waited());
        Self { attempts, causes, priority, waited, trace: None, stopping, writes: Arc::default() }
    }

    /// The next run of this key comes when the informer shows this write or is past it, or after
    /// [`Settings::timeout`](crate::Settings::timeout), also if the controller is stopped and runs again meanwhile. Other keys do not wait.
    pub fn wrote(&self, token: &WriteToken, informer: &impl WriteTracker) {
        self.writes.lock().push(WriteWait::new(token, informer));
    }

    /// In which trace it is, and with which span: all that it writes says so, but for tasks that it spawns. Those are to be
    /// [`traced`](machinery_objects::traced) with this.
    #[must_use]
    pub const fn traceparent(&self) -> Option<Traceparent> {
        self.trace
    }

    /// Cancelled when the controller stops: whoever waits for long should end with it.
    #[must_use]
    pub const fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// What is written by and by, also if the run is dropped.
    pub(crate) fn writes(&self) -> RunWrites {
        self.writes.clone()
    }

    /// What was written, and is to be waited for.
    pub(crate) fn take_writes(&self) -> Vec<WriteWait> {
        std::mem::take(&mut self.writes.lock())
    }
}

impl<T: Object> WriteTracker for Informer<T> {
    async fn wait_for_write(&self, token: &WriteToken, timeout: Duration) -> bool {
        self.reached(token, timeout).await.is_ok()
    }
}

impl<F: Text, T: Object> WriteTracker for KeyedInformers<F, T> {
    async fn wait_for_write(&self, token: &WriteToken, timeout: Duration) -> bool {
        self.reached(token, timeout).await.is_ok()
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
