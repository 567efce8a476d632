//! The checks of users, boxed: each returns violations, and a panic is one.

use std::any::Any;
use std::future::ready;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use crate::testing::committed_state::{CheckedCommit, CommittedState};

/// A check of each commit.
pub(super) struct CommitCheck {
    pub(super) name: String,
    check: Box<dyn FnMut(&CheckedCommit<'_>) -> Vec<String> + Send>,
}

/// A check of the state at rest.
#[derive(Clone)]
pub(super) struct RestCheck {
    pub(super) name: String,
    check: Arc<dyn Fn(CommittedState) -> BoxFuture<'static, Vec<String>> + Send + Sync>,
}

/// An observation of the world outside of the server after commits.
pub(super) struct Observer {
    pub(super) name: String,
    observe: Box<dyn Fn() -> BoxFuture<'static, Result<Judgement, String>> + Send>,
}

/// Judges an observation against a state that includes every commit before it.
pub(super) type Judgement = Box<dyn FnOnce(&CommittedState) -> Vec<String> + Send>;

impl CommitCheck {
    pub(super) fn new<I>(name: &str, mut check: impl FnMut(&CheckedCommit<'_>) -> I + Send + 'static) -> Self
    where
        I: IntoIterator<Item: ToString> + 'static,
    {
        let check = Box::new(move |commit: &CheckedCommit<'_>| texts(check(commit)));
        Self { name: name.into(), check }
    }

    pub(super) fn violations(&mut self, commit: &CheckedCommit<'_>) -> Vec<String> {
        caught(|| (self.check)(commit))
    }
}

impl RestCheck {
    pub(super) fn new<I, F>(name: &str, check: impl Fn(CommittedState) -> F + Send + Sync + 'static) -> Self
    where
        I: IntoIterator<Item: ToString> + 'static,
        F: Future<Output = I> + Send + 'static,
    {
        let check = Arc::new(move |state| check(state).map(texts).boxed());
        Self { name: name.into(), check }
    }

    pub(super) async fn violations(&self, state: CommittedState) -> Vec<String> {
        let checked = AssertUnwindSafe(async { (self.check)(state).await }).catch_unwind().await;
        checked.unwrap_or_else(|panic| vec![panicked(&*panic)])
    }
}

impl Observer {
    pub(super) fn new<F, J, E, I>(name: &str, observe: impl Fn() -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<J, E>> + Send + 'static,
        J: FnOnce(&CommittedState) -> I + Send + 'static,
        E: ToString + 'static,
        I: IntoIterator<Item: ToString> + 'static,
    {
        let boxed = |judge: J| -> Judgement { Box::new(move |state: &CommittedState| texts(judge(state))) };
        let observe =
            move || observe().map(move |seen| seen.map(boxed).map_err(|error| error.to_string())).boxed();
        Self { name: name.into(), observe: Box::new(observe) }
    }

    /// Observes; an error or a panic is a violation.
    pub(super) fn observe(&self) -> BoxFuture<'static, Result<Judgement, String>> {
        match catch_unwind(AssertUnwindSafe(|| (self.observe)())) {
            Ok(observing) => AssertUnwindSafe(observing)
                .catch_unwind()
                .map(|seen| seen.unwrap_or_else(|panic| Err(panicked(&*panic))))
                .boxed(),
            Err(panic) => ready(Err(panicked(&*panic))).boxed(),
        }
    }
}

pub(super) fn judge(judgement: Judgement, state: &CommittedState) -> Vec<String> {
    caught(|| judgement(state))
}

fn caught(check: impl FnOnce() -> Vec<String>) -> Vec<String> {
    catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|panic| vec![panicked(&*panic)])
}

fn panicked(panic: &(dyn Any + Send)) -> String {
    crate::testing::panic_message::of(panic)
}

fn texts<I: IntoIterator<Item: ToString>>(found: I) -> Vec<String> {
    found.into_iter().map(|text| text.to_string()).collect()
}
