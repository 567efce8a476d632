//! The shell of an election: executes its actions and feeds back the results.

use std::future::Future;
use std::sync::Arc;

use futures::future::{BoxFuture, OptionFuture};
use machinery_objects::{Object, Preconditions};
use tokio::task::JoinError;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::election::{Action, Election, ElectionTime, Input, LeadershipChange};
use super::elector::{Inner, LeadError};
use super::{Lease, Term};

/// The work of a term.
struct LeaderTask<T> {
    term: Term,
    task: AbortOnDropHandle<T>,
}

/// Event that ends a wait.
enum Wakeup<T> {
    Stop,
    TaskEnded(Result<T, JoinError>),
    Response(Input),
    Timer,
}

pub(super) async fn run<W, F>(
    inner: &Inner,
    work: W,
    stopping: CancellationToken,
) -> Result<Option<F::Output>, LeadError>
where
    W: Fn(Term) -> F + Send + Sync + 'static,
    F: Future<Output: Send> + Send + 'static,
{
    let (work, tasks) = (Arc::new(work), TaskTracker::new());
    let counts = inner.status.lock().counts;
    let mut election = Election::new(inner.config.clone(), counts, Instant::now().into_std());
    let (mut working, mut ended): (Option<LeaderTask<F::Output>>, _) = (None, None);
    let mut under_way: OptionFuture<BoxFuture<'_, Input>> = None.into();
    let (mut stop_requested, mut input) = (false, Input::Tick);
    loop {
        let now = ElectionTime { at: Instant::now().into_std(), wall: (inner.clock)() };
        let output = election.step(now, input);
        match &output.change {
            Some(LeadershipChange::Acquired { uid, epoch }) => {
                let has_fences = inner.writes.capabilities().fences;
                let term = Term::new(&inner.config.lease, uid.clone(), *epoch, has_fences);
                tracing::info!(lease = %inner.config.lease, identity = %inner.config.identity, epoch, "it leads");
                let (work, of) = (work.clone(), term.clone());
                // A task of its own: work that computes for long must not delay the renewals.
                let task = AbortOnDropHandle::new(tasks.spawn(async move { work(of).await }));
                working = Some(LeaderTask { term, task });
            }
            Some(LeadershipChange::Lost(why)) => {
                tracing::warn!(lease = %inner.config.lease, identity = %inner.config.identity, %why, "it leads no more");
                let from = election.reserved().map_or_else(Instant::now, Into::into);
                // Not dropped: it may be half-way through an operation, and fences refuse it.
                working.iter().for_each(|work| work.term.lose(from));
            }
            None => {}
        }
        let is_ending = working.as_ref().map(|work| work.term.token().is_cancelled());
        inner.status.lock().update(&election, is_ending);
        match output.action {
            Action::AwaitResponse => {}
            Action::Sleep => under_way = None.into(),
            Action::Read => under_way = Some(read(inner)).into(),
            Action::Create(lease) => under_way = Some(create(inner, lease)).into(),
            Action::Update(lease) => under_way = Some(update(inner, lease)).into(),
            Action::Stop => break,
        }
        let due = election.due().map(|due| sleep_until(due.into()));
        let task: OptionFuture<_> = working.as_mut().map(|work| &mut work.task).into();
        let wakeup = tokio::select! {
            biased;
            () = stopping.cancelled(), if !stop_requested => Wakeup::Stop,
            Some(done) = task => Wakeup::TaskEnded(done),
            Some(answer) = &mut under_way => Wakeup::Response(answer),
            Some(()) = OptionFuture::from(due) => Wakeup::Timer,
            else => Wakeup::Timer,
        };
        input = match wakeup {
            Wakeup::Stop => {
                stop_requested = true;
                working.iter().for_each(|work| work.term.token().cancel());
                // Renewed until the work has ended: an early release would let two leaders overlap.
                if working.is_some() { Input::Tick } else { Input::Resign }
            }
            Wakeup::TaskEnded(done) => {
                let is_over = working.take().is_some_and(|work| work.term.token().is_cancelled());
                if is_over && !stop_requested && done.is_ok() {
                    Input::Rejoin
                } else {
                    ended = Some(done);
                    Input::Resign
                }
            }
            Wakeup::Response(answer) => {
                under_way = None.into();
                answer
            }
            Wakeup::Timer => Input::Tick,
        };
    }
    tasks.close();
    ended.transpose().map_err(panicked)
}

fn panicked(error: JoinError) -> LeadError {
    let panic = error.try_into_panic().ok();
    let text = panic.as_ref().and_then(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
    });
    LeadError::Panicked(text.unwrap_or("no message").into())
}

fn read(inner: &Inner) -> BoxFuture<'_, Input> {
    Box::pin(async { Input::Read((inner.reads)().await) })
}

fn create(inner: &Inner, lease: Lease) -> BoxFuture<'_, Input> {
    Box::pin(async move {
        let made = inner.writes.create(&lease, None).await;
        Input::Wrote(made.map(|made| made.object))
    })
}

fn update(inner: &Inner, lease: Lease) -> BoxFuture<'_, Input> {
    Box::pin(async move {
        let only_if = Preconditions { uid: lease.typed_uid(), version: lease.version(), fence: None };
        let written = inner.writes.update(&lease, &only_if).await;
        Input::Wrote(written.map(|written| written.object))
    })
}
