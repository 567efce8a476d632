//! Detection of silent owners in an index of an informer.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use machinery_informers::{Builder, Index, Informer};
use machinery_objects::{Object, ObjectKey};
use machinery_sync::Mutex;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::tracker::{SilenceChange, SilenceTracker};
use crate::{Controller, Request};

/// An index of objects that await a response of their owner: a node, an appliance, another
/// controller.
pub struct Awaiting<T, O> {
    index: Index<()>,
    owner: Arc<OwnerFn<T, O>>,
}

type OwnerFn<T, O> = dyn Fn(&T) -> Option<O> + Send + Sync;

impl<T: Object, O: Owner> Awaiting<T, O> {
    /// Adds the index to an informer. `owner` returns the owner from which an object awaits a
    /// response, and `None` once the owner has responded or none is expected.
    pub fn index(informer: &mut Builder<T>, owner: impl Fn(&T) -> Option<O> + Send + Sync + 'static) -> Self {
        let owner: Arc<OwnerFn<T, O>> = Arc::new(owner);
        let of_index = owner.clone();
        Self { index: informer.index(move |object: &T| of_index(object).map(|_| ())), owner }
    }
}

/// The name of an owner, such as that of a node.
pub trait Owner: Ord + Clone + fmt::Display + Send + Sync + 'static {}

impl<O: Ord + Clone + fmt::Display + Send + Sync + 'static> Owner for O {}

/// Detects owners that owe a response for longer than a timeout. Cheap to clone.
///
/// The index is checked four times per timeout, so an overdue response is reported after the
/// timeout and at most a quarter of it. Owners write no heartbeats, and an object without an
/// awaited response costs nothing. While the informer cannot read from its source, nobody is
/// reported.
///
/// Waits begin at their first check by this process: after a restart, a report comes up to one
/// timeout later.
pub struct SilenceDetector<T, O>(Arc<Inner<T, O>>);

struct Inner<T, O> {
    objects: Informer<T>,
    awaiting: Awaiting<T, O>,
    interval: Duration,
    tracker: Mutex<SilenceTracker<AwaitingObject, O>>,
    detected: Mutex<u64>,
}

/// Key and UID: an object that replaces another one under its key begins a wait of its own.
type AwaitingObject = (ObjectKey, Option<Box<str>>);

/// The counts of a detector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SilenceCounts {
    /// Objects that await a response.
    pub awaited: usize,
    /// Objects with an overdue response.
    pub overdue: usize,
    /// Owners that are silent.
    pub silent: usize,
    /// Responses that have become overdue since the start.
    pub detected: u64,
}

/// The timeout is too short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a timeout of {timeout:?} is below {SHORTEST:?}: owners need time to respond; use seconds")]
pub struct TimeoutTooShort {
    /// The timeout.
    pub timeout: Duration,
}

/// The shortest timeout: its quarter is the interval of the checks.
const SHORTEST: Duration = Duration::from_millis(40);
/// The cause of a run that a detector requests.
const CAUSE: &&str = &"an owner does not respond";

impl<T: Object, O: Owner> SilenceDetector<T, O> {
    /// Creates a detector on an index of this informer. It is inactive until
    /// [`run`](Self::run) or [`request`](Self::request).
    ///
    /// # Errors
    /// The timeout is below 40 ms.
    pub fn new(
        objects: &Informer<T>,
        awaiting: Awaiting<T, O>,
        timeout: Duration,
    ) -> Result<Self, TimeoutTooShort> {
        if timeout < SHORTEST {
            return Err(TimeoutTooShort { timeout });
        }
        let tracker = Mutex::new(SilenceTracker::new(timeout));
        let interval = timeout / 4;
        let objects = objects.clone();
        Ok(Self(Arc::new(Inner { objects, awaiting, interval, tracker, detected: Mutex::new(0) })))
    }

    /// Returns whether the response to an object is overdue.
    #[must_use]
    pub fn is_overdue(&self, object: &T) -> bool {
        self.0.tracker.lock().is_overdue(&(object.key(), object.uid().map(Into::into)))
    }

    /// Returns whether an owner owes an overdue response.
    #[must_use]
    pub fn is_silent(&self, owner: &O) -> bool {
        self.0.tracker.lock().is_silent(owner)
    }

    /// Returns the silent owners, each with the number of its overdue responses.
    #[must_use]
    pub fn silent(&self) -> Vec<(O, usize)> {
        self.0.tracker.lock().silent()
    }

    /// Returns the current counts.
    #[must_use]
    pub fn counts(&self) -> SilenceCounts {
        let detected = *self.0.detected.lock();
        let tracker = self.0.tracker.lock();
        let silent = tracker.silent().len();
        SilenceCounts { awaited: tracker.awaited(), overdue: tracker.overdue(), silent, detected }
    }

    /// Checks until the token is cancelled, and calls a function with each change. One call at a
    /// time per detector.
    pub async fn run<R: Future<Output = ()>>(
        &self,
        stopping: CancellationToken,
        mut on_change: impl FnMut(SilenceChange<ObjectKey, O>) -> R,
    ) {
        while stopping.run_until_cancelled(sleep(self.0.interval)).await.is_some() {
            let Some(change) = self.check(Instant::now()) else { continue };
            if stopping.run_until_cancelled(on_change(change)).await.is_none() {
                return;
            }
        }
    }

    /// Checks until the token is cancelled, and requests a run of the controller for each key that
    /// `map_keys` returns for a change: the overdue objects, or their owners.
    pub async fn request<Q: Request, S: Send + Sync + 'static, W: IntoIterator<Item = Q>>(
        &self,
        controller: &Controller<Q, S>,
        stopping: CancellationToken,
        map_keys: impl Fn(SilenceChange<ObjectKey, O>) -> W,
    ) {
        let request = |change| {
            let keys: Vec<Q> = map_keys(change).into_iter().collect();
            async move {
                for key in keys {
                    controller.request(key, CAUSE).await;
                }
            }
        };
        self.run(stopping, request).await;
    }

    /// Compares the index with that of the last check; `None` if nothing has changed, or while the
    /// cache is not current.
    fn check(&self, now: Instant) -> Option<SilenceChange<ObjectKey, O>> {
        let Inner { objects, awaiting, tracker, detected, .. } = &*self.0;
        let state = objects.state();
        if !state.synced || state.trouble.is_some() {
            return None;
        }
        let awaited: Vec<(AwaitingObject, O)> = {
            let snapshot = objects.read();
            let found = snapshot.by(&awaiting.index, &());
            found
                .filter_map(|(key, object)| {
                    Some(((key.clone(), object.uid().map(Into::into)), (awaiting.owner)(object)?))
                })
                .collect()
        };
        let SilenceChange { overdue, silent, responsive } = tracker.lock().check(now, awaited);
        *detected.lock() += overdue.len() as u64;
        let overdue = overdue.into_iter().map(|(key, _)| key).collect();
        let change = SilenceChange { overdue, silent, responsive };
        (!change.is_empty()).then_some(change)
    }

    #[cfg(feature = "prometheus")]
    pub(crate) fn metrics_source(&self) -> impl Fn() -> Option<SilenceCounts> + Send + Sync + use<T, O> {
        let inner = Arc::downgrade(&self.0);
        move || Some(Self(inner.upgrade()?).counts())
    }
}

impl<T, O> Clone for SilenceDetector<T, O> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Object, O: Owner> fmt::Debug for SilenceDetector<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SilenceDetector").field(&self.counts()).finish()
    }
}

impl<T, O> fmt::Debug for Awaiting<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Awaiting").finish_non_exhaustive()
    }
}
