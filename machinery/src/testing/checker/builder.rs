//! The builder of an invariant checker.

use std::fmt;

use machinery_apiserver::ApiServer;
use tokio_util::sync::CancellationToken;

use super::checks::{CommitCheck, Observer, RestCheck};
use super::handle::InvariantChecker;
use crate::Plane;
use crate::testing::committed_state::{CheckedCommit, CommittedState};

/// Collects the invariants of an [`InvariantChecker`]. Each returns its violations, an `Option` or
/// a `Vec` of texts or errors; a panic is a violation, too, so an invariant may be an `assert!`.
#[derive(Default)]
#[must_use = "nothing is checked before it runs"]
pub struct InvariantCheckerBuilder {
    pub(super) commits: Vec<CommitCheck>,
    pub(super) observers: Vec<Observer>,
    pub(super) at_rest: Vec<RestCheck>,
}

impl InvariantCheckerBuilder {
    /// Adds an invariant of every committed state. It is called once per commit, in order, with the
    /// changes and the state after them, and may keep a state of its own.
    pub fn always<I>(
        mut self,
        name: &str,
        check: impl FnMut(&CheckedCommit<'_>) -> I + Send + 'static,
    ) -> Self
    where
        I: IntoIterator<Item: ToString> + 'static,
    {
        self.commits.push(CommitCheck::new(name, check));
        self
    }

    /// Adds an invariant of the world outside of the server: switches, appliances, files. It is
    /// observed after commits, without side effects; commits during a slow observation share the
    /// next one. An observation returns its judgement, which is called with a state that includes
    /// every commit before the end of the observation, so that nothing outside is ahead of it. An
    /// error of the observation is a violation.
    pub fn observe<F, J, E, I>(mut self, name: &str, observe: impl Fn() -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<J, E>> + Send + 'static,
        J: FnOnce(&CommittedState) -> I + Send + 'static,
        E: ToString + 'static,
        I: IntoIterator<Item: ToString> + 'static,
    {
        self.observers.push(Observer::new(name, observe));
        self
    }

    /// Adds a check of the state at rest, when all components have converged: it may read the world
    /// outside of the server. It is called by [`InvariantChecker::wait_for_rest`] until it returns no
    /// difference.
    pub fn at_rest<I, F>(
        mut self,
        name: &str,
        check: impl Fn(CommittedState) -> F + Send + Sync + 'static,
    ) -> Self
    where
        I: IntoIterator<Item: ToString> + 'static,
        F: Future<Output = I> + Send + 'static,
    {
        self.at_rest.push(RestCheck::new(name, check));
        self
    }

    /// Runs the checker on the embedded server of a plane, until the plane stops.
    ///
    /// # Errors
    /// The plane's server is in another process.
    pub fn run(self, plane: &Plane) -> Result<InvariantChecker, NoEmbeddedServer> {
        let server = plane.server().ok_or(NoEmbeddedServer)?;
        let (checker, running) = self.on(server, plane.stopping().clone());
        plane.run(|_| running);
        Ok(checker)
    }

    /// Returns a checker of a server, and the future that runs it until cancelled.
    pub fn on(
        self,
        server: &ApiServer,
        stopping: CancellationToken,
    ) -> (InvariantChecker, impl Future<Output = ()> + Send + use<>) {
        InvariantChecker::new(self, Box::pin(server.commits()), stopping)
    }
}

/// The server of the plane is in another process, and its commits are not accessible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an invariant checker needs a server in this process: start the plane with `embedded()`")]
pub struct NoEmbeddedServer;

impl fmt::Debug for InvariantCheckerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let commits = self.commits.iter().map(|check| &check.name);
        let observers = self.observers.iter().map(|observer| &observer.name);
        let at_rest = self.at_rest.iter().map(|check| &check.name);
        f.debug_list().entries(commits.chain(observers).chain(at_rest)).finish()
    }
}
