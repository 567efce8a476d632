//! Work items: a key in flight, to be completed exactly once.

use crate::Key;
use crate::cause::Causes;
use crate::core::{FailureOutcome, Handout, Retried};
use crate::priority::Priority;
use crate::shared::Shared;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

/// A work item: a key in flight. The key is handed out to no other worker until the item is
/// completed.
///
/// [`Work::done`] completes it, [`Work::after`] requeues the key after a delay, [`Work::retry`]
/// requeues it with back-off. Dropped without completion (an early return, a panic, an aborted
/// task) it is retried as after a failure, and counted as abandoned.
#[must_use = "a work that is dropped is retried; answer it with done, after or retry"]
pub struct Work<K: Key> {
    shared: Arc<Shared<K>>,
    handout: Handout<K>,
    answered: bool,
}

/// A key that reached the limit of failures ([`crate::Config::max_tries`]).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetter<K> {
    /// The key.
    pub key: K,
    /// Number of failures in a row.
    pub attempts: u16,
    /// Message of the last failure.
    pub error: String,
}

impl<K: Key> Work<K> {
    pub(crate) fn new(shared: Arc<Shared<K>>, handout: Handout<K>) -> Self {
        Self { shared, handout, answered: false }
    }

    /// Returns the key.
    pub fn key(&self) -> &K {
        &self.handout.key
    }

    /// Returns the number of failures in a row before this run.
    pub fn attempts(&self) -> u16 {
        self.handout.attempts
    }

    /// Returns the highest priority of its adds.
    pub fn priority(&self) -> Priority {
        Priority::from_level(self.handout.level)
    }

    /// Returns the causes of all adds merged into this run, and of the failed runs before it.
    pub fn causes(&self) -> Causes {
        self.shared.with(|core| core.causes(self.handout.slot))
    }

    /// Returns the time that the key was ready before it was handed out.
    pub fn waited(&self) -> Duration {
        Duration::from_micros(self.handout.waited)
    }

    /// Marks the work as finished while the key stays in flight. From here on it counts as held,
    /// not as worked on: for a controller that waits, for instance for a cache, before the key's
    /// next run may start. Repeated calls have no effect.
    pub fn hold(&self) {
        let now = self.shared.clock.exact();
        self.shared.with(|core| core.hold(now, self.handout.slot));
    }

    /// Completes the run and resets the failures (client-go: `Forget` and `Done`). If the key was
    /// added meanwhile, it is requeued.
    #[inline]
    pub fn done(mut self) {
        self.answered = true;
        let now = self.shared.clock.coarse();
        // The queue's copy of the key is dropped here, where the lock is not held.
        drop(self.shared.with(|core| core.done(now, self.handout.slot)));
    }

    /// Completes the run, resets the failures and requeues the key after `delay`
    /// (controller-runtime: `RequeueAfter`), or sooner if an add sets an earlier time. Clamped to
    /// [`crate::MAX_DELAY`].
    pub fn after(mut self, delay: Duration) {
        self.answered = true;
        let now = self.shared.clock.exact();
        self.shared.with(|core| core.after(now, self.handout.slot, delay));
    }

    /// Fails the run (client-go: `AddRateLimited` and `Done`). Requeues the key after its back-off,
    /// or sooner if it is added; a dead letter is not requeued.
    pub fn retry(mut self, error: impl fmt::Display) -> Retried {
        self.answered = true;
        fail(&self.shared, &self.handout, false, &error)
    }
}

/// Completes a failed or abandoned run, and calls the hook for a dead letter.
pub(crate) fn fail<K: Key>(
    shared: &Shared<K>,
    handout: &Handout<K>,
    abandoned: bool,
    error: &dyn fmt::Display,
) -> Retried {
    let now = shared.clock.exact();
    let failed = shared.with(|core| core.fail(now, handout.slot, abandoned));
    let FailureOutcome { retried, dead, ended, panicked } = failed;
    drop(ended);
    // Without the lock: the hook may use the queue.
    if let (Some((key, attempts)), Some(hook)) = (dead, &shared.dead_letter) {
        hook(DeadLetter { key, attempts, error: error.to_string() });
    }
    if let Some(panic) = panicked {
        resume_unwind(panic);
    }
    retried
}

/// Completes all dropped runs, even if a hook or a limiter panics. The first such panic is resumed
/// afterwards, unless the thread is panicking already, in which case it would abort.
pub(crate) fn abandon<'a, K: Key>(shared: &Shared<K>, handouts: impl IntoIterator<Item = &'a Handout<K>>) {
    let mut first = None;
    for handout in handouts {
        let answer = || fail(shared, handout, true, &"dropped unanswered");
        if let Err(panic) = catch_unwind(AssertUnwindSafe(answer)) {
            first.get_or_insert(panic);
        }
    }
    if let Some(panic) = first.filter(|_| !std::thread::panicking()) {
        resume_unwind(panic);
    }
}

impl<K: Key> Drop for Work<K> {
    fn drop(&mut self) {
        if !self.answered {
            abandon(&self.shared, [&self.handout]);
        }
    }
}

impl<K: Key + fmt::Debug> fmt::Debug for Work<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work")
            .field("key", self.key())
            .field("attempts", &self.attempts())
            .field("priority", &self.priority())
            .field("causes", &self.causes())
            .finish()
    }
}
