//! The handle of a running invariant checker.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use machinery_apiserver::{Commits, CommitsError, ServerCommit};
use machinery_objects::Revision;
use machinery_sync::Mutex;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

use super::builder::InvariantCheckerBuilder;
use super::checks::RestCheck;
use super::run::Checking;
use super::violation::{InvariantViolation, Violations};
use crate::testing::committed_state::CommittedState;

/// Interval of checks of the state at rest.
const REST_INTERVAL: Duration = Duration::from_millis(20);

/// Number of distinct violations that are kept.
const MAX_VIOLATIONS: usize = 1000;

/// Verifies user-written invariants after every commit of a server, in order and without gaps, and
/// the state at rest. Cheap to clone.
///
/// It reads the commits of the store over all kinds, not watches or informers, which would merge
/// changes or reorder those of different kinds. Violations never disappear.
///
/// ```
/// # #[cfg(feature = "embedded")] async fn example() -> machinery::Result {
/// # use machinery::k8s_openapi::api::core::v1::ConfigMap;
/// # use machinery::testing::InvariantChecker;
/// # use std::time::Duration;
/// # let plane = machinery::embedded().start().await?;
/// let checker = InvariantChecker::builder()
///     .always("data is never removed", |commit| {
///         let changes = commit.changes::<ConfigMap>().into_iter();
///         changes.filter_map(|change| {
///             let had_data = change.before?.data.is_some();
///             (had_data && change.after?.data.is_none()).then_some(change.key)
///         })
///     })
///     .at_rest("nothing is left", async |state| {
///         state.all::<ConfigMap>().into_iter().filter_map(|map| map.metadata.name.clone())
///     })
///     .run(&plane)?;
/// // … the scenario …
/// # let maps = plane.objects::<ConfigMap>()?;
/// # for (key, map) in maps.read().iter() { maps.delete(key).await?; }
/// checker.wait_for_rest(Duration::from_secs(60)).await?;
/// # Ok(()) }
/// # #[cfg(feature = "embedded")]
/// # machinery::tokio::runtime::Builder::new_current_thread()
/// #     .enable_all()
/// #     .build()
/// #     .unwrap()
/// #     .block_on(example())
/// #     .unwrap();
/// ```
#[derive(Clone)]
pub struct InvariantChecker(pub(super) Arc<CheckerShared>);

pub(super) struct CheckerShared {
    violations: Mutex<Vec<InvariantViolation>>,
    at_rest: Vec<RestCheck>,
    /// Requests of the present state.
    requests: Sender<StateRequest>,
}

/// A request of the state after all commits that were acknowledged before it.
pub(super) type StateRequest = oneshot::Sender<CommittedState>;

impl InvariantChecker {
    /// Returns a builder, to which invariants are added.
    pub fn builder() -> InvariantCheckerBuilder {
        InvariantCheckerBuilder::default()
    }

    pub(super) fn new(
        builder: InvariantCheckerBuilder,
        commits: BoxFuture<'static, Result<(ServerCommit, Commits), CommitsError>>,
        stopping: CancellationToken,
    ) -> (Self, impl Future<Output = ()> + Send + use<>) {
        let InvariantCheckerBuilder { commits: checks, observers, at_rest } = builder;
        let (requests, receiver): (_, Receiver<StateRequest>) = channel(16);
        let checker = Self(Arc::new(CheckerShared { violations: Mutex::default(), at_rest, requests }));
        let checking = Checking::new(checker.clone(), checks, observers, receiver);
        (checker, async move {
            stopping.run_until_cancelled(checking.run(commits)).await;
        })
    }

    /// Returns the violations of commits and observations so far.
    #[must_use]
    pub fn violations(&self) -> Vec<InvariantViolation> {
        self.0.violations.lock().clone()
    }

    /// Waits until every commit that was acknowledged before the call has been checked, and returns
    /// the state.
    ///
    /// # Errors
    /// The checker has ended; the violations name the reason if the server did not stop.
    pub async fn caught_up(&self) -> Result<CommittedState, Violations> {
        let (sender, state) = oneshot::channel();
        // A request that cannot be sent is dropped here, so that the wait for its answer ends.
        drop(self.0.requests.send(sender).await);
        state.await.map_err(|_| self.ended())
    }

    /// Checks the state at rest once, and returns the differences.
    ///
    /// # Errors
    /// The checker has ended.
    pub async fn differences(&self) -> Result<Vec<InvariantViolation>, Violations> {
        let (state, mut found) = (self.caught_up().await?, Vec::new());
        for check in &self.0.at_rest {
            let (invariant, revision) = (check.name.clone(), state.revision());
            let violations = check.violations(state.clone()).await.into_iter();
            found.extend(violations.map(|text| InvariantViolation {
                invariant: invariant.clone(),
                text,
                revision,
            }));
        }
        found.extend(unreadable(&state));
        Ok(found)
    }

    /// Waits until the checks at rest return no difference.
    ///
    /// # Errors
    /// A commit or observation violated an invariant: at once. There are differences at the
    /// deadline. The checker has ended.
    pub async fn wait_for_rest(&self, deadline: Duration) -> Result<(), Violations> {
        let end = Instant::now() + deadline;
        loop {
            let Ok(differences) = timeout_at(end, self.differences()).await else {
                let text = format!("after {deadline:?} there are still commits, or a check hangs");
                return Err(self.with_violation("rest", text));
            };
            let differences = differences?;
            let violations = self.violations();
            if !violations.is_empty() {
                return Err(Violations(violations));
            }
            if differences.is_empty() {
                return Ok(());
            }
            if Instant::now() >= end {
                return Err(Violations(differences));
            }
            sleep(REST_INTERVAL).await;
        }
    }

    pub(super) fn report(&self, invariant: &str, revision: Revision, texts: Vec<String>) {
        let mut violations = self.0.violations.lock();
        for text in texts {
            let is_known = violations.iter().any(|known| known.invariant == invariant && known.text == text);
            if !is_known && violations.len() < MAX_VIOLATIONS {
                tracing::error!(invariant, %revision, text, "invariant violated");
                violations.push(InvariantViolation { invariant: invariant.into(), text, revision });
            }
        }
    }

    fn ended(&self) -> Violations {
        self.with_violation("checker", "it ended with the server or plane, or its future does not run".into())
    }

    fn with_violation(&self, invariant: &str, text: String) -> Violations {
        let mut violations = self.violations();
        let revision = Revision::default();
        violations.push(InvariantViolation { invariant: invariant.into(), text, revision });
        Violations(violations)
    }
}

fn unreadable(state: &CommittedState) -> impl Iterator<Item = InvariantViolation> {
    let revision = state.revision();
    let texts = state.take_unreadable().into_iter();
    texts.map(move |text| InvariantViolation { invariant: super::run::DECODING.into(), text, revision })
}

impl fmt::Debug for InvariantChecker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InvariantChecker").field(&self.violations()).finish()
    }
}
