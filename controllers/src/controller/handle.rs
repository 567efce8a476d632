//! The controller handle.

use std::fmt;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use machinery_objects::SpanIds;
use machinery_sync::Mutex;
use machinery_workqueue::{Causes, Config, Priority, Queue};
use tokio::time::Instant;

use super::carry_over::{QueuedKey, ShutdownReport};
use super::documents::Documents;
use super::held_key::HeldKey;
use super::records::RunHistory;
use super::settings::Settings;
use super::source::EventSource;
use super::state::{Explanation, Phase, RunCounters, Running, State};
use super::traces;
use crate::Request;
use crate::fights::{FightHook, SharedFights};
use crate::reconcile::RunWrites;

/// Runs a [`Reconcile`](crate::Reconcile) for each key that its sources request.
///
/// Cheap to clone. Created by [`Controller::of`]; it can run repeatedly, once at a time, and each
/// start reconciles all objects.
pub struct Controller<K: Request, S>(pub(super) Arc<Inner<K, S>>);

/// The built configuration of a controller.
pub(super) struct ControllerSpec<K, S> {
    pub(super) name: Arc<str>,
    pub(super) sources: Vec<Box<dyn EventSource<K>>>,
    pub(super) subject: Box<SubjectLookup<K, S>>,
    /// Parses a key from its text, for diagnostics, where the key type supports it.
    pub(super) parse_key: Option<ParseKey<K>>,
    pub(super) settings: Settings,
    pub(super) queue: Box<dyn Fn() -> Config<K> + Send + Sync>,
    pub(super) seed: u64,
    /// Encoders of the objects of the sources.
    pub(super) documents: Arc<Documents>,
    /// Called when a write fight begins.
    pub(super) on_write_fight: Option<FightHook>,
    /// Returns the priority of a key; `None` if all are equal.
    pub(super) priority: Option<Arc<PriorityOf<K>>>,
}

/// Returns the subject of a key, if it exists.
pub(super) type SubjectLookup<K, S> = dyn Fn(&K) -> Option<S> + Send + Sync;

/// Returns the priority of a key.
pub(super) type PriorityOf<K> = dyn Fn(&K) -> Priority + Send + Sync;

/// Parses a key from its text.
pub(super) type ParseKey<K> = fn(&str) -> Option<K>;

pub(super) struct Inner<K: Request, S> {
    pub(super) spec: ControllerSpec<K, S>,
    pub(super) counters: Arc<RunCounters>,
    /// The write fights of the runs.
    pub(super) fights: Arc<SharedFights<K>>,
    /// Span ids of the runs.
    pub(super) ids: SpanIds,
    pub(super) lifecycle: Mutex<Lifecycle<K>>,
    pub(super) records: Mutex<RunHistory<K>>,
    /// Keys that wait until the caches show the writes of their last run; kept across restarts.
    pub(super) held: Mutex<HashMap<K, HeldKey, FixedState>>,
    /// Keys that were queued at the last shutdown.
    pub(super) carried_over: Mutex<Vec<QueuedKey<K>>>,
    /// The active runs of each worker: those of a batch, else at most one.
    pub(super) workers: Vec<Mutex<Vec<ActiveRun<K>>>>,
}

/// Phase and queue of the present run.
pub(super) struct Lifecycle<K: Request> {
    /// A controller runs once at a time.
    pub(super) is_running: bool,
    pub(super) phase: Phase,
    /// The queue, while the controller runs.
    pub(super) queue: Option<Queue<K>>,
    pub(super) waits_for: Vec<Arc<str>>,
    /// Report of the last shutdown.
    pub(super) last_shutdown: Option<ShutdownReport<K>>,
}

pub(super) struct ActiveRun<K> {
    pub(super) key: K,
    pub(super) since: Instant,
    pub(super) causes: Causes,
    pub(super) attempts: u16,
    /// Writes that the run has reported.
    pub(super) writes: RunWrites,
    pub(super) is_stuck: bool,
}

impl<K: Request, S> Controller<K, S> {
    pub(super) fn new(spec: ControllerSpec<K, S>) -> Self {
        let workers = (0..spec.settings.workers).map(|_| Mutex::new(Vec::new())).collect();
        let records = Mutex::new(RunHistory::new(spec.settings.records, SEED));
        let (phase, waits_for) = (Phase::Idle, Vec::new());
        let lifecycle =
            Mutex::new(Lifecycle { is_running: false, phase, queue: None, waits_for, last_shutdown: None });
        let held = Mutex::new(HashMap::with_hasher(FixedState::with_seed(SEED)));
        let ids = SpanIds::seeded(traces::seed(spec.seed, &spec.name));
        let fights = Arc::new(SharedFights::new(&spec.name, spec.on_write_fight.clone(), SEED));
        let (counters, carried_over) = (Arc::default(), Mutex::default());
        Self(Arc::new(Inner { spec, counters, fights, ids, lifecycle, records, held, carried_over, workers }))
    }

    /// Returns the name in logs and metrics.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.spec.name
    }

    /// Returns a snapshot of the state.
    #[must_use]
    pub fn state(&self) -> State<K> {
        let inner = &*self.0;
        let (phase, queue, waits_for) = {
            let now = inner.lifecycle.lock();
            (now.phase, now.queue.clone(), now.waits_for.iter().map(ToString::to_string).collect())
        };
        let at = Instant::now();
        let busy = inner.workers.iter().flat_map(|worker| {
            let busy = worker.lock();
            let running = busy.iter().map(|ActiveRun { key, since, is_stuck, .. }| Running {
                key: key.clone(),
                time: at.saturating_duration_since(*since),
                is_stuck: *is_stuck,
            });
            running.collect::<Vec<_>>()
        });
        State {
            phase,
            waits_for,
            running: busy.collect(),
            counts: inner.counters.counts(),
            queue: queue.map(|queue| queue.stats()),
        }
    }

    /// Explains a key: causes and outcome of its last run, pending writes, next run.
    #[must_use]
    pub fn explain(&self, key: &K) -> Explanation<K> {
        let inner = &*self.0;
        let queue = inner.lifecycle.lock().queue.clone();
        let last = inner.records.lock().get(key).cloned();
        let at = Instant::now();
        let running = inner.workers.iter().find_map(|worker| {
            let busy = worker.lock();
            let busy = busy.iter().find(|busy| busy.key == *key);
            busy.map(|busy| at.saturating_duration_since(busy.since))
        });
        let held = inner.held.lock().get(key).map(|held| held.holding(at));
        let fights = inner.fights.going_on().into_iter().filter(|(of, _)| of == key).map(|(_, fight)| fight);
        let (queued, fights) = (queue.and_then(|queue| queue.status(key)), fights.collect());
        Explanation { last, queued, running, held, fights }
    }

    /// Returns the report of the last shutdown, also after an error or a dropped future. `None`
    /// before the first one.
    #[must_use]
    pub fn last_shutdown(&self) -> Option<ShutdownReport<K>> {
        self.0.lifecycle.lock().last_shutdown.clone()
    }

    /// Requests a run of a key with a custom cause. Waits for queue capacity. Returns `false` if
    /// the controller is not running. A key that is still queued at shutdown is requeued at the
    /// next start.
    pub async fn request(&self, key: K, why: &'static &'static str) -> bool {
        let queue = self.0.lifecycle.lock().queue.clone();
        match queue {
            Some(queue) => super::feed::add(&queue, &self.0.counters, key, why).await,
            None => false,
        }
    }
}

/// Fixed: the iteration order of these maps is not observable.
const SEED: u64 = 0x6d61_6368_696e_6572;

impl<K: Request, S> Clone for Controller<K, S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K: Request, S> fmt::Debug for Controller<K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller").field("name", &self.0.spec.name).finish_non_exhaustive()
    }
}
