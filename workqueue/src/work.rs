//! A key that is out, and the duty to answer for it.

use crate::Key;
use crate::cause::Causes;
use crate::core::{FailureOutcome, Handout, Retried};
use crate::priority::Priority;
use crate::shared::Shared;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

/// A key that is out: nobody else has it, and nobody gets it until this is answered.
///
/// [`Work::done`] ends it, [`Work::after`] runs it again later, [`Work::retry`] runs it again after its back-off.
/// Dropped without an answer (an early return, a panic, an aborted task) it is retried as after a failure, and
/// counted as abandoned.
#[must_use = "a work that is dropped is retried; answer it with done, after or retry"]
pub struct Work<K: Key> {
    shared: Arc<Shared<K>>,
    handout: Handout<K>,
    answered: bool,
}

/// A key that failed as often as it may.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetter<K> {
    /// The key.
    pub key: K,
    /// How often it failed in a row.
    pub attempts: u16,
    /// What was said of the last failure.
    pub error: String,
}

impl<K: Key> Work<K> {
    pub(crate) fn new(shared: Arc<Shared<K>>, handout: Handout<K>) -> Self {
        Self { shared, handout, answered: false }
    }

    /// The key.
    pub fn key(&self) -> &K {
        &self.handout.key
    }

    /// How often it has failed in a row before this run.
    pub fn attempts(&self) -> u16 {
        self.handout.attempts
    }

    /// The highest priority it was added with.
    pub fn priority(&self) -> Priority {
        Priority::from_level(self.handout.level)
    }

    /// Why it runs: the causes of every add that was merged into this run, and of the runs that failed before it.
    pub fn causes(&self) -> Causes {
        self.shared.with(|core| core.causes(self.handout.slot))
    }

    /// How long it was ready before it was handed out.
    pub fn waited(&self) -> Duration {
        Duration::from_micros(self.handout.waited)
    }

    /// What there was to do is done, and the key stays out until this is answered. From here on that counts as held, and not as
    /// work: for whoever waits for something before the next run may come. Holding it again changes nothing.
    pub fn hold(&self) {
        let now = self.shared.clock.exact();
        self.shared.with(|core| core.hold(now, self.handout.slot));
    }

    /// It is done, and its failures are forgotten. If it was added meanwhile, it is handed out again.
    #[inline]
    pub fn done(mut self) {
        self.answered = true;
        let now = self.shared.clock.coarse();
        // What the queue had of the key is dropped here, where the lock is not held.
        drop(self.shared.with(|core| core.done(now, self.handout.slot)));
    }

    /// It is done for now, and its failures are forgotten. It is handed out again after `delay`, or sooner if it was
    /// or will be added sooner. More than [`crate::MAX_DELAY`] means that.
    pub fn after(mut self, delay: Duration) {
        self.answered = true;
        let now = self.shared.clock.exact();
        self.shared.with(|core| core.after(now, self.handout.slot, delay));
    }

    /// It failed. It is handed out again after its back-off, sooner if it is added, or never if it is a dead letter.
    pub fn retry(mut self, error: impl fmt::Display) -> Retried {
        self.answered = true;
        fail(&self.shared, &self.handout, false, &error)
    }
}

/// Answers for a failed or abandoned run, and tells of a dead letter.
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
    if let (Some((key, attempts)), Some(hook)) = (dead, &shared.dead_letter) {
        hook(DeadLetter { key, attempts, error: error.to_string() });
    }
    if let Some(panic) = panicked {
        resume_unwind(panic);
    }
    retried
}

/// Answers for runs that were dropped: for each of them, also if a hook or a limiter panics on the way. The first such
/// panic goes on afterwards, unless one is under way already, which it would turn into an abort.
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
