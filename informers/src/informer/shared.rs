//! The informer as its users have it.

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
use crate::cache::CacheProgress;
use crate::deliver::{Closed, Delivery, Events, Hub, Registration, spawn};
use crate::reflect::{ReflectorError, ReflectorLimits};

/// The objects of a source, as of a moment that is not long ago, and handlers that are told what becomes of them.
///
/// Cheap to clone. It is made by a [builder](Informer::builder), and empty until it [runs](Self::run).
pub struct Informer<T>(pub(super) Arc<InformerShared<T>>);

/// What it is made of.
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
    /// Somebody wants all of it listed anew.
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

/// What is known besides the objects.
#[derive(Default)]
pub(crate) struct InformerReport {
    pub(crate) trouble: Option<ReflectorError>,
    /// All of it is coming anew.
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

    /// Keeps the cache up to date and tells handlers, until the token is cancelled; returns when the last handler's call has.
    ///
    /// It needs a tokio runtime with time. An informer runs once: a second run ends at once.
    pub fn run(&self, stopping: CancellationToken) -> impl Future<Output = ()> + Send + use<T> {
        let shared = self.0.clone();
        async move {
            if !shared.has_run.swap(true, Ordering::AcqRel) {
                run(&shared, stopping).await;
            }
        }
    }

    /// What is there, as of one moment. It costs a pointer, and holds up nobody; do not keep it for long.
    #[must_use]
    pub fn read(&self) -> Snapshot<ObjectKey, Arc<T>> {
        self.0.map.snapshot()
    }

    /// One object.
    #[must_use]
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<T>> {
        self.0.map.get(key)
    }

    /// Calls a function with what becomes of each object, one at a time, beginning with what is there. If it is slow it
    /// hears of the latest state only, and nobody else notices.
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

    /// The same for whoever asks, one by one, with marks of how far it has come.
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

    /// Waits until the cache is whole for the first time.
    ///
    /// # Errors
    /// The informer has stopped before.
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

    /// Whether the cache has once been whole.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        self.0.progress.now().synced
    }

    /// Lists all of it anew, soon; a source that refuses is not asked sooner for that. What has changed is told; what has not is not.
    pub fn relist(&self) {
        self.0.request_relist();
    }

    /// What its source can do.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.0.source.capabilities()
    }

    /// How it is.
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

/// Nobody can make it run any more.
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
