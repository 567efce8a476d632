//! A candidate in an election.

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

/// A candidate in an election by a Lease, which candidates of client-go may share.
///
/// Cheap to clone. It does nothing until it is to [lead](Self::lead).
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
/// let leases = server.handle_of::<Lease>(Lease::kind(), Identity::admin());     // or a machinery_kube::Remote
/// let reads: Arc<dyn ListWatch<Arc<Lease>>> = Arc::new(leases.clone());
///
/// let config = ElectionConfig::new("kube-system/hosts".parse()?, "host-7-8a2c", 0x8a2c);
/// let elector = Elector::new(config, reads, Arc::new(leases), Timestamp::now)?;
/// let work = |term: Term| async move {
///     // Here controllers run until `term.token()` is cancelled, and write under `term.fence()`.
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
    pub(super) clock: fn() -> Timestamp,
    pub(super) status: Mutex<StatusCell>,
    runs: AtomicBool,
}

pub(super) type LeaseRead = BoxFuture<'static, Result<Option<Arc<Lease>>, ListError>>;

/// Why it does not lead any more, and was not told to end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LeadError {
    /// It stands already.
    #[error(
        "this candidate stands already: wait until that has ended, or make another one, with a name of its own"
    )]
    AlreadyRunning,
    /// What was to be done has panicked. The Lease was released.
    #[error("what was done while it led panicked: {0}")]
    Panicked(String),
}

/// A leader does not renew its Lease, and has not noticed that it leads no more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the Lease was last renewed {renewed:?} ago, and who leads does not know: its runtime is blocked")]
pub struct NotRenewed {
    /// How long ago.
    pub renewed: Duration,
}

impl Elector {
    /// A candidate that reads and writes the Lease there. The wall clock is for what stands in the Lease, and nothing is decided
    /// by it.
    ///
    /// # Errors
    /// The first thing that makes no sense in what it is told.
    pub fn new<S>(
        config: ElectionConfig,
        reads: Arc<dyn ListWatch<S>>,
        writes: Arc<dyn Writer<Lease>>,
        clock: fn() -> Timestamp,
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
            clock,
            status: Mutex::default(),
            runs: AtomicBool::new(false),
        })))
    }

    /// Stands until told to stop, and does the work whenever it leads: once for each term, on a task of its own.
    ///
    /// When a term is over its token is cancelled, [`ElectionConfig::renew_deadline`] after the last renewal was sent. No other leads
    /// before [`ElectionConfig::lease_duration`] after that: so long the work has to end, unless all that it writes is under the fence. On a
    /// server that holds no fences [`Term::within`] sees to that.
    /// When it has ended, it stands again. Told to stop it cancels the token, too, and renews the Lease until the work has ended; then
    /// it releases it, so that the next one leads at once.
    ///
    /// If the work ends by itself, the Lease is released and this returns what the work did; so it does where it was told to stop and
    /// led. `None` is that it did not lead.
    ///
    /// Dropping the future drops the work, and releases nothing.
    ///
    /// # Errors
    /// It stands already, or the work panicked.
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

    /// What it was told.
    #[must_use]
    pub fn config(&self) -> &ElectionConfig {
        &self.0.config
    }

    /// How it goes.
    #[must_use]
    pub fn state(&self) -> ElectionState {
        self.0.status.lock().state(Instant::now().into_std())
    }

    /// How it goes, as long as it exists.
    #[cfg(feature = "prometheus")]
    pub(crate) fn metrics_source(&self) -> impl Fn() -> Option<ElectionState> + Send + Sync + use<> {
        let inner = Arc::downgrade(&self.0);
        move || Some(inner.upgrade()?.status.lock().state(Instant::now().into_std()))
    }

    /// For a check of health: a leader that could not renew its Lease stops leading, unless it is blocked as a whole.
    ///
    /// # Errors
    /// It leads, as far as it knows, and the last renewal was sent longer ago than others wait, and so much longer.
    pub fn check(&self, tolerance: Duration) -> Result<(), NotRenewed> {
        let renewed = self.state().renewed.unwrap_or_default();
        let longest = self.0.config.lease_duration.saturating_add(tolerance);
        if renewed > longest { Err(NotRenewed { renewed }) } else { Ok(()) }
    }
}

/// It stands once at a time.
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
