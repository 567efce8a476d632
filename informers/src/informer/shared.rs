//! The [`Informer`] handle: running, reads, handlers, relist and state.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use machinery_objects::{Capabilities, Event, Filter, ListWatch, Object, ObjectKey};
use machinery_snapshot::{Map, Snapshot};
use machinery_sync::{Mutex, Notify};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::run::run;
use super::state::{Counts, State};
use crate::InformerId;
use crate::cache::CacheProgress;
use crate::deliver::{Closed, Delivery, Events, Hub, Registration, spawn};
use crate::reflect::{ReflectorError, ReflectorLimits};

/// A cache of the objects of a source, kept up to date, with indexes and event handlers:
/// client-go's `SharedIndexInformer`.
///
/// The initial list fills the cache; a watch keeps it up to date. If the watch cannot be resumed, a
/// *relist* replaces the cache, and handlers receive only the differences, with a *tombstone* for
/// each object that vanished. There is no periodic *resync*: the [drift
/// check](crate::Builder::drift_check) replaces it. A caller [reads its own
/// writes](Self::wait_for).
///
/// Cheap to clone. Created by a [builder](Informer::builder), and empty until it [runs](Self::run).
pub struct Informer<T>(pub(super) Arc<InformerShared<T>>);

/// The parts of an informer.
pub(super) struct Setup<T> {
    pub(super) source: Arc<dyn ListWatch<Arc<T>>>,
    pub(super) map: Map<ObjectKey, Arc<T>>,
    pub(super) filter: Filter,
    pub(super) limits: ReflectorLimits,
    pub(super) seed: u64,
    pub(super) drift_check: Option<Duration>,
    pub(super) index_panics: Arc<AtomicU64>,
}

pub(crate) struct InformerShared<T> {
    pub(crate) source: Arc<dyn ListWatch<Arc<T>>>,
    pub(crate) map: Arc<Map<ObjectKey, Arc<T>>>,
    pub(super) hub: Hub<ObjectKey, Arc<T>>,
    pub(crate) progress: CacheProgress,
    pub(crate) report: Mutex<InformerReport>,
    pub(crate) filter: Filter,
    pub(crate) limits: ReflectorLimits,
    pub(super) seed: u64,
    pub(super) drift_check: Option<Duration>,
    pub(super) index_panics: Arc<AtomicU64>,
    /// A relist was requested.
    pub(super) relist_request: RelistRequest,
    pub(super) tasks: TaskTracker,
    pub(super) stopping: CancellationToken,
    pub(super) has_run: AtomicBool,
}

#[derive(Default)]
pub(crate) struct RelistRequest {
    pub(super) requested: Mutex<bool>,
    pub(super) changed: Notify,
}

/// The state of an informer besides its objects.
#[derive(Default)]
pub(crate) struct InformerReport {
    pub(crate) trouble: Option<ReflectorError>,
    /// A relist is running.
    pub(crate) relisting: bool,
    pub(super) unreadable: Vec<machinery_objects::Unreadable>,
    pub(crate) counts: Counts,
}

impl<T: Object> Informer<T> {
    pub(super) fn new(setup: Setup<T>) -> Self {
        let Setup { source, map, filter, limits, seed, drift_check, index_panics } = setup;
        Self(Arc::new(InformerShared {
            source,
            map: Arc::new(map),
            hub: Hub::new(seed),
            progress: CacheProgress::new(Instant::now().into_std()),
            report: Mutex::default(),
            filter,
            limits,
            seed,
            drift_check,
            index_panics,
            relist_request: RelistRequest::default(),
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
            has_run: AtomicBool::new(false),
        }))
    }

    /// Runs the reflector and the handlers until the token is cancelled; returns when the last
    /// running handler call has returned.
    ///
    /// Needs a tokio runtime with time. An informer runs once: a second run returns at once.
    pub fn run(&self, stopping: CancellationToken) -> impl Future<Output = ()> + Send + use<T> {
        let shared = self.0.clone();
        async move {
            if !shared.has_run.swap(true, Ordering::AcqRel) {
                run(&shared, stopping).await;
            }
        }
    }

    /// Returns a snapshot of the cache, at the cost of a pointer and without blocking writers. Do
    /// not keep it for long.
    #[must_use]
    pub fn read(&self) -> Snapshot<ObjectKey, Arc<T>> {
        self.0.map.snapshot()
    }

    /// Returns an object of the cache.
    #[must_use]
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<T>> {
        self.0.map.get(key)
    }

    /// Adds an event handler (client-go's `AddEventHandler`), called with one event at a time,
    /// first with those of the cached objects.
    ///
    /// A slow handler receives coalesced changes and blocks neither the cache nor other handlers.
    ///
    /// # Errors
    /// The informer has stopped.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn add_handler(
        &self,
        mut handle: impl FnMut(Event<Arc<T>>) + Send + 'static,
    ) -> Result<Registration, Closed> {
        let events = self.events()?;
        let of_objects = move |delivery| match delivery {
            Delivery::Event(_, event) => handle(event),
            Delivery::Mark(_) => {}
        };
        Ok(spawn(events, &self.0.tasks, self.0.stopping.clone(), of_objects))
    }

    /// Adds an event handler that pulls its events and marks one by one.
    ///
    /// # Errors
    /// The informer has stopped.
    pub fn events(&self) -> Result<Events<ObjectKey, Arc<T>>, Closed> {
        let shared = &self.0;
        shared.hub.register(
            Instant::now().into_std(),
            || shared.map.snapshot(),
            |snapshot, each| snapshot.iter().for_each(|(key, object)| each(key, object)),
        )
    }

    /// Waits until the cache has synced: the initial list is complete (client-go's
    /// `WaitForCacheSync`). Cancel safe.
    ///
    /// # Errors
    /// The informer has stopped before that.
    pub async fn synced(&self) -> Result<(), Closed> {
        let progress = &self.0.progress;
        loop {
            let listener = progress.listen();
            let now = progress.now();
            match (now.synced, now.closed) {
                (true, _) => return Ok(()),
                (false, true) => return Err(Closed),
                (false, false) => listener.await,
            }
        }
    }

    /// Returns whether the initial list is complete.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        self.0.progress.now().synced
    }

    /// Requests a relist. It runs soon, but does not shorten the back-off of a failing source.
    /// Handlers receive only the differences.
    pub fn relist(&self) {
        self.0.request_relist();
    }

    /// Returns the identity of the informer, which its clones share.
    #[must_use]
    pub fn id(&self) -> InformerId {
        InformerId::of_address(Arc::as_ptr(&self.0).addr())
    }

    /// Returns the capabilities of the source.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.0.source.capabilities()
    }

    /// Returns the state of the informer.
    #[must_use]
    pub fn state(&self) -> State {
        self.0.state()
    }
}

impl<T: Object> InformerShared<T> {
    fn state(&self) -> State {
        let shared = self;
        let now = Instant::now().into_std();
        let (progress, handlers, lag) = (shared.progress.now(), shared.hub.len(), shared.hub.lag(now));
        let index_panics = shared.index_panics.load(Ordering::Relaxed);
        let report = shared.report.lock();
        State {
            synced: progress.synced,
            version: progress.version,
            objects: shared.map.len(),
            silent_for: now.saturating_duration_since(progress.fresh_at),
            closed: progress.closed,
            trouble: report.trouble.clone(),
            unreadable: report.unreadable.clone(),
            handlers,
            lag,
            counts: Counts { index_panics, ..report.counts },
        }
    }
}

#[cfg(feature = "prometheus")]
impl<T: Object> Informer<T> {
    pub(crate) fn observed(&self) -> std::sync::Weak<dyn crate::metrics::ObservedInformer> {
        let observed: std::sync::Weak<InformerShared<T>> = Arc::downgrade(&self.0);
        observed
    }
}

#[cfg(feature = "prometheus")]
impl<T: Object> crate::metrics::ObservedInformer for InformerShared<T> {
    fn observe(&self) -> crate::metrics::ObservedState {
        crate::metrics::ObservedState::One(Box::new(self.state()))
    }
}

impl<T> InformerShared<T> {
    pub(crate) fn request_relist(&self) {
        *self.relist_request.requested.lock() = true;
        self.relist_request.changed.notify_all();
    }
}

/// Closes an informer that was dropped before it ran.
impl<T> Drop for InformerShared<T> {
    fn drop(&mut self) {
        self.stopping.cancel();
        self.hub.close();
    }
}

impl<T> Clone for Informer<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> fmt::Debug for Informer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let progress = self.0.progress.now();
        f.debug_struct("Informer")
            .field("objects", &self.0.map.len())
            .field("version", &progress.version)
            .field("synced", &progress.synced)
            .finish_non_exhaustive()
    }
}
