//! Runs guards, which are foreign code: they may be slow, hang or panic.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinery_store::Entry;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::hold::{ROOT, panicked, wrong};
use super::{CrossGuards, Guard, GuardedObject, GuardedWrite};
use crate::change::{ObjectWrite, unserved};
use crate::flowcontrol::without_seat;
use crate::invalid::{FieldError, Problem};
use crate::kind::Kind;
use crate::metrics::Event;
use crate::refusal::Refusal;
use crate::server::Limits;
use crate::verbs::output::read;

/// The concurrency limits of guards. Each kind with guards of its own has slots, and each guard
/// over several kinds has, so that a hanging guard blocks its own kinds only.
pub(crate) struct Checks {
    tasks: TaskTracker,
    /// By the store prefix of the kind, or the prefix of the guard.
    slots: BTreeMap<Arc<str>, Arc<Semaphore>>,
}

impl Checks {
    pub(crate) fn new(kinds: &[Arc<Kind>], cross: &CrossGuards, limits: &Limits) -> Self {
        let guarded = kinds.iter().filter(|kind| !kind.hooks.guards().is_empty());
        let slots = |owner: Arc<str>| {
            let slots = limits.guards_at_once.min(Semaphore::MAX_PERMITS);
            (owner, Arc::new(Semaphore::new(slots)))
        };
        let owners = guarded.map(|kind| kind.place.start(None)).chain(cross.prefixes().map(Arc::from));
        Self { tasks: TaskTracker::new(), slots: owners.map(slots).collect() }
    }

    /// Waits for running guards, up to the timeout of one check.
    pub(crate) async fn end(&self, limits: &Limits) {
        self.tasks.close();
        let _ = timeout(limits.guard_time, self.tasks.wait()).await;
    }
}

/// Runs a guard on a write and the other objects under its keys.
pub(super) async fn run(
    change: &ObjectWrite<'_>,
    guard: &Arc<dyn Guard>,
    write: &Arc<GuardedWrite>,
    others: Vec<(Arc<Kind>, Arc<Entry>)>,
) -> Result<Vec<FieldError>, Refusal> {
    let (shared, limits) = (change.shared, &change.shared.limits);
    // 422 and not 429: a retry would not help.
    if others.len() > limits.guarded_objects {
        let why = format!(
            "the guard {:?} would hold it against so many others, and may against {}: split them, or delete some",
            guard.name(),
            limits.guarded_objects
        );
        return Err(wrong(change, &[FieldError::new(ROOT, Problem::TooMany(others.len()), why)]));
    }
    let owner = match guard.members() {
        Some(_) => guard.prefix().into(),
        None => change.kind.place.start(None),
    };
    let slots = shared.checks.slots.get(&owner).ok_or_else(|| unserved(change.kind))?;
    let slot = without_seat(timeout(limits.guard_time, slots.clone().acquire_owned())).await;
    let Ok(Ok(slot)) = slot else {
        shared.metrics.counted.add(Event::TooManyGuards);
        return Err(too_many(change, guard));
    };
    let (runnable, write) = (guard.clone(), write.clone());
    let mut task = shared.checks.tasks.spawn_blocking(move || {
        // Decoded on the blocking thread as well: there may be ten thousand objects.
        let decode = |(kind, other): &(Arc<Kind>, Arc<Entry>)| {
            Ok(GuardedObject::new(kind.place.clone(), Arc::new(read(kind, other, other.modified)?)))
        };
        let others: Result<Vec<GuardedObject>, Refusal> = others.iter().map(decode).collect();
        let found = others.map(|others| runnable.check(&write, &others));
        // Not released at the timeout: a hanging check counts against its kind until it ends.
        drop(slot);
        found
    });
    match without_seat(timeout(limits.guard_time, &mut task)).await {
        Ok(Ok(found)) => found,
        Ok(Err(error)) if error.is_panic() => Err(panicked(change, guard.name())),
        // The task did not start: the runtime is shutting down.
        Ok(Err(_)) => Err(unserved(change.kind)),
        Err(_) => {
            // Cancels the task if it has not started.
            task.abort();
            shared.metrics.counted.add(Event::LateGuard);
            Err(late(change, guard))
        }
    }
}

fn named(change: &ObjectWrite<'_>, guard: &Arc<dyn Guard>) -> String {
    format!("the guard {:?} of {}", guard.name(), change.kind.resource())
}

/// 503 rather than 504, since nothing was written.
fn late(change: &ObjectWrite<'_>, guard: &Arc<dyn Guard>) -> Refusal {
    let seconds = change.shared.limits.guard_time.as_secs_f64();
    let message =
        format!("{} did not answer within {seconds} seconds, and nothing was written", named(change, guard));
    Refusal { retry_after: Some(1), ..Refusal::new(503, "ServiceUnavailable", message) }
}

/// 429: the limit of concurrent guard checks of the kind is reached.
fn too_many(change: &ObjectWrite<'_>, guard: &Arc<dyn Guard>) -> Refusal {
    let message = format!("{} is asked as often as it may be: ask again", named(change, guard));
    Refusal { retry_after: Some(1), ..Refusal::new(429, "TooManyRequests", message) }
}
