//! The task of an invariant checker: applies commits, observes, and answers requests of the state.

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use machinery_apiserver::{CommitItem, Commits, CommitsError, ServerCommit};
use machinery_objects::Revision;
use tokio::sync::mpsc::Receiver;

use super::checks::{CommitCheck, Judgement, Observer, judge};
use super::handle::{InvariantChecker, StateRequest};
use crate::testing::committed_state::{CheckedCommit, CommittedState};

/// Names of the checker's own invariants.
pub(super) const DECODING: &str = "objects can be decoded";
const COMMITS: &str = "no commit is missed";

/// The state of the task.
pub(super) struct Checking {
    checker: InvariantChecker,
    checks: Vec<CommitCheck>,
    observers: Vec<Observed>,
    requests: Receiver<StateRequest>,
    state: CommittedState,
    /// Judgements and requests that wait for a progress mark requested after them.
    waiting: Waiting,
    /// Those that came after the request of the mark, and wait for the next one.
    next: Waiting,
    is_requested: bool,
}

struct Observed {
    observer: Observer,
    is_running: bool,
    /// Whether there was a commit since the last observation began.
    is_due: bool,
}

#[derive(Default)]
struct Waiting {
    judgements: Vec<(usize, Judgement)>,
    requests: Vec<StateRequest>,
}

/// An observation of the observer with this index.
type Observation = (usize, Result<Judgement, String>);

impl Checking {
    pub(super) fn new(
        checker: InvariantChecker,
        checks: Vec<CommitCheck>,
        observers: Vec<Observer>,
        requests: Receiver<StateRequest>,
    ) -> Self {
        let observers = observers.into_iter();
        let observers =
            observers.map(|observer| Observed { observer, is_running: false, is_due: false }).collect();
        let state = CommittedState::default();
        let (waiting, next) = (Waiting::default(), Waiting::default());
        Self { checker, checks, observers, requests, state, waiting, next, is_requested: false }
    }

    pub(super) async fn run(
        mut self,
        commits: BoxFuture<'static, Result<(ServerCommit, Commits), CommitsError>>,
    ) {
        let (first, mut commits) = match commits.await {
            Ok(begun) => begun,
            Err(error) => return self.report(COMMITS, vec![error.to_string()]),
        };
        self.commit(first);
        let mut observations: FuturesUnordered<BoxFuture<'static, Observation>> = FuturesUnordered::new();
        loop {
            self.start_observations(&observations);
            self.request_progress(&mut commits);
            tokio::select! {
                biased;
                Some((index, seen)) = observations.next() => self.observed(index, seen),
                item = commits.next() => match item {
                    Ok(CommitItem::Commit(commit)) => self.commit(commit),
                    Ok(CommitItem::Progress(_)) => self.progress(),
                    Err(error) => return self.report(COMMITS, vec![error.to_string()]),
                },
                Some(request) = self.requests.recv() => self.next.requests.push(request),
            }
        }
    }

    fn commit(&mut self, commit: ServerCommit) {
        let changes = self.state.apply(commit);
        let commit = CheckedCommit::new(&self.state, &changes);
        for check in &mut self.checks {
            let found = check.violations(&commit);
            self.checker.report(&check.name, commit.revision(), found);
        }
        self.checker.report(DECODING, self.state.revision(), self.state.take_unreadable());
        self.observers.iter_mut().for_each(|observed| observed.is_due = true);
    }

    fn start_observations(&mut self, observations: &FuturesUnordered<BoxFuture<'static, Observation>>) {
        for (index, observed) in self.observers.iter_mut().enumerate() {
            if observed.is_due && !observed.is_running {
                (observed.is_due, observed.is_running) = (false, true);
                let observing = observed.observer.observe();
                observations.push(Box::pin(async move { (index, observing.await) }));
            }
        }
    }

    fn observed(&mut self, index: usize, seen: Result<Judgement, String>) {
        let Some(observed) = self.observers.get_mut(index) else { return };
        observed.is_running = false;
        match seen {
            Ok(judgement) => self.next.judgements.push((index, judgement)),
            Err(error) => {
                let text = format!("it cannot be observed: {error}");
                self.checker.report(&observed.observer.name, self.state.revision(), vec![text]);
            }
        }
    }

    /// Requests a progress mark if something waits for it and none is requested. Requests of the
    /// state wait for due observations, so that their judgements are part of the answer.
    fn request_progress(&mut self, commits: &mut Commits) {
        if self.is_requested {
            return;
        }
        self.waiting.judgements.append(&mut self.next.judgements);
        if !self.observers.iter().any(|observed| observed.is_due || observed.is_running) {
            self.waiting.requests.append(&mut self.next.requests);
        }
        if !self.waiting.judgements.is_empty() || !self.waiting.requests.is_empty() {
            self.is_requested = true;
            commits.request_progress();
        }
    }

    fn progress(&mut self) {
        self.is_requested = false;
        let Waiting { judgements, requests } = std::mem::take(&mut self.waiting);
        for (index, judgement) in judgements {
            let found = judge(judgement, &self.state);
            if let Some(observed) = self.observers.get(index) {
                self.checker.report(&observed.observer.name, self.state.revision(), found);
            }
        }
        self.checker.report(DECODING, self.state.revision(), self.state.take_unreadable());
        for request in requests {
            // The requester may have been dropped.
            let _ = request.send(self.state.clone());
        }
    }

    fn report(&self, invariant: &str, texts: Vec<String>) {
        let revision: Revision = self.state.revision();
        self.checker.report(invariant, revision, texts);
    }
}
