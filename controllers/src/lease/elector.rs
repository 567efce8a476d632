//! Leader election: the elector handle.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;
use machinery_objects::{Freshness, ListError, ListWatch, Writer};
use machinery_sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::run::run;
use super::status::StatusCell;
use super::{ElectionConfig, ElectionConfigError, ElectionState, Lease, Term};

/// A candidate in a leader election by a Lease: client-go's `leaderelection.LeaderElector`, and
/// compatible with its candidates.
///
/// Cheap to clone. Inactive until [`lead`](Self::lead).
///
/// ```
/// use jiff::Timestamp;
/// use machinery_apiserver::{ApiServer, Identity};
/// use machinery_controllers::{ElectionConfig, Elector, Lease, Term};
/// use machinery_objects::ListWatch;
/// use machinery_store::{Memory, Options};
/// use std::sync::Arc;
/// use tokio_util::sync::CancellationToken;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = ApiServer::builder(Memory::new(Options::default())).start().await?;
/// // or a machinery_kube::Remote
/// let leases = server.handle_of::<Lease>(Lease::kind(), Identity::admin());
/// let reads: Arc<dyn ListWatch<Arc<Lease>>> = Arc::new(leases.clone());
///
/// let config = ElectionConfig::new("kube-system/hosts".parse()?, "host-7-8a2c", 0x8a2c);
/// let elector = Elector::new(config, reads, Arc::new(leases), Timestamp::now)?;
/// let work = |term: Term| async move {
///     // run controllers until `term.token()` is cancelled, writing under `term.fence()`
///     term.epoch()
/// };
/// assert_eq!(elector.lead(work, CancellationToken::new()).await?, Some(0));
/// # server.stop().await;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Elector(Arc<Inner>);

pub(super) struct Inner {
    pub(super) config: ElectionConfig,
    pub(super) reads: Box<dyn Fn() -> LeaseRead + Send + Sync>,
    pub(super) writes: Arc<dyn Writer<Lease>>,
    pub(super) clock: Box<dyn Fn() -> Timestamp + Send + Sync>,
    pub(super) status: Mutex<StatusCell>,
    runs: AtomicBool,
}

pub(super) type LeaseRead = BoxFuture<'static, Result<Option<Arc<Lease>>, ListError>>;

/// Error of [`Elector::lead`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LeadError {
    /// The elector is running already.
    #[error(
        "this elector is running already: wait until it has stopped, or create another one with its own identity"
    )]
    AlreadyRunning,
    /// The work of a term panicked. The Lease was released.
    #[error("the work of the term panicked: {0}")]
    Panicked(String),
}

/// A leader has not renewed its Lease and has not noticed: its runtime is blocked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the Lease was last renewed {renewed:?} ago, and its leader has not noticed: its runtime is blocked")]
pub struct NotRenewed {
    /// Time since the last renewal.
    pub renewed: Duration,
}

impl Elector {
    /// Creates a candidate that reads and writes the Lease by these ports. The wall clock is only
    /// written into the Lease; no decision depends on it.
    ///
    /// # Errors
    /// The configuration is invalid.
    pub fn new<S>(
        config: ElectionConfig,
        reads: Arc<dyn ListWatch<S>>,
        writes: Arc<dyn Writer<Lease>>,
        clock: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> Result<Self, ElectionConfigError>
    where
        S: Into<Arc<Lease>> + Send + 'static,
    {
        config.check()?;
        let key = config.lease.clone();
        let reads = move || -> LeaseRead {
            let (reads, key) = (reads.clone(), key.clone());
            Box::pin(async move { Ok(reads.get(&key, Freshness::Newest).await?.map(Into::into)) })
        };
        Ok(Self(Arc::new(Inner {
            config,
            reads: Box::new(reads),
            writes,
            clock: Box::new(clock),
            status: Mutex::default(),
            runs: AtomicBool::new(false),
        })))
    }

    /// Takes part in the election until `stopping` is cancelled, and runs `work` in a task of its
    /// own for each term.
    ///
    /// A lost term cancels its token, [`ElectionConfig::renew_deadline`] after the last renewal was
    /// sent. Another candidate leads at the earliest [`ElectionConfig::lease_duration`] after that
    /// renewal: the work has to end by then, unless all of its writes carry the fence. On a server
    /// without fences [`Term::within`] enforces it. When the work has ended, the candidate rejoins
    /// the election. On cancellation of `stopping` it cancels the token, renews until the work has
    /// ended, and then releases the Lease, so that the next candidate leads at once.
    ///
    /// If the work ends by itself, the Lease is released and its output is returned, as after a
    /// cancellation while leading. `None`: the candidate did not lead.
    ///
    /// Dropping the future drops the work, and does not release the Lease.
    ///
    /// # Errors
    /// The elector is running already, or the work panicked.
    pub async fn lead<F>(
        &self,
        work: impl Fn(Term) -> F + Send + Sync + 'static,
        stopping: CancellationToken,
    ) -> Result<Option<F::Output>, LeadError>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let inner = &self.0;
        if inner.runs.swap(true, Ordering::AcqRel) {
            return Err(LeadError::AlreadyRunning);
        }
        let _guard = CandidacyGuard(inner);
        run(inner, work, stopping).await
    }

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> &ElectionConfig {
        &self.0.config
    }

    /// Returns a snapshot of the state.
    #[must_use]
    pub fn state(&self) -> ElectionState {
        self.0.status.lock().state(Instant::now().into_std())
    }

    /// Returns a state source for metrics that holds a weak reference.
    #[cfg(feature = "prometheus")]
    pub(crate) fn metrics_source(&self) -> impl Fn() -> Option<ElectionState> + Send + Sync + use<> {
        let inner = Arc::downgrade(&self.0);
        move || Some(inner.upgrade()?.status.lock().state(Instant::now().into_std()))
    }

    /// Health check: a leader that cannot renew its Lease stops leading, unless its runtime is
    /// blocked.
    ///
    /// # Errors
    /// It believes to lead, and its last renewal is older than `lease_duration` plus `tolerance`.
    pub fn check(&self, tolerance: Duration) -> Result<(), NotRenewed> {
        let renewed = self.state().renewed.unwrap_or_default();
        let longest = self.0.config.lease_duration.saturating_add(tolerance);
        if renewed > longest { Err(NotRenewed { renewed }) } else { Ok(()) }
    }
}

/// Ensures that an elector runs once at a time.
struct CandidacyGuard<'i>(&'i Inner);

impl Drop for CandidacyGuard<'_> {
    fn drop(&mut self) {
        self.0.status.lock().idle();
        self.0.runs.store(false, Ordering::Release);
    }
}

impl fmt::Debug for Elector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Elector({} for {})", self.0.config.identity, self.0.config.lease)
    }
}
