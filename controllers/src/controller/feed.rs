//! The queue side of a source: adds, and changes that are parked while their key is in flight.

use std::sync::Arc;
use std::time::Duration;

use machinery_informers::InformerId;
use machinery_informers::deliver::Steps;
use machinery_objects::{Event, Object};
use machinery_sync::{Panic, contained};
use machinery_workqueue::{Add, AddError, Cause, Priority, Queue};
use tokio::sync::SetOnce;
use tokio::time::sleep;

use super::documents::Documents;
use super::handle::PriorityOf;
use super::state::RunCounters;
use super::traces::{TracedChange, Traces};
use crate::Request;
use crate::fights::{ChangedFields, DocumentOf, SharedFights, Side};
use crate::own_writes::{ObjectChange, WriteWindows};

/// A request for a run, parked until the writes of the run in flight are known.
pub(super) struct ParkedRequest {
    pub(super) add: Add,
    pub(super) change: Option<TracedChange>,
    /// The changed fields, if the object may be in a write fight.
    pub(super) fields: Option<Box<ChangedFields>>,
}

/// The queue side of a source.
pub(super) struct Feed<K: Request> {
    pub(super) name: Arc<str>,
    pub(super) queue: Queue<K>,
    pub(super) counters: Arc<RunCounters>,
    pub(super) traces: Arc<Traces<K>>,
    /// Windows of the keys in flight; `None` if own writes request runs.
    pub(super) windows: Option<Arc<WriteWindows<K, ParkedRequest>>>,
    pub(super) fights: Arc<SharedFights<K>>,
    pub(super) documents: Arc<Documents>,
    pub(super) priority: Option<Arc<PriorityOf<K>>>,
    /// Set when the keys of the initial list are in the queue.
    pub(super) synced: Arc<SetOnce<()>>,
}

/// Properties of a source that its events are interpreted by.
pub(super) struct EventOrigin<T> {
    pub(super) carries_traces: bool,
    pub(super) informer: InformerId,
    pub(super) is_subject: bool,
    /// Encodes an object, to name the fields of a write fight.
    pub(super) document: Option<DocumentOf<T>>,
}

impl<T> EventOrigin<T> {
    /// Compares the states of an update.
    fn changed_fields(&self, event: &Event<Arc<T>>) -> Option<Box<ChangedFields>> {
        let (document, Event::Updated { old, object }) = (self.document?, event) else { return None };
        Some(Box::new(ChangedFields::between(&document(old)?, &document(object)?)))
    }
}

/// Delay before another attempt to add to a full queue.
const FULL_QUEUE_RETRY: Duration = Duration::from_millis(10);

impl<K: Request> Feed<K> {
    /// Sets the priority of the key, beside that of the event.
    pub(super) fn prioritized(&self, key: &K, add: Add, of_event: Priority) -> Add {
        let Some(priority) = &self.priority else { return add };
        let Ok(priority) = contained(|| priority(key)) else { return add };
        add.priority(Priority::new(i32::from(priority.value()) + i32::from(of_event.value())))
    }

    /// Parks the request of an event that may be a write of the key's run in flight.
    pub(super) fn parked<T: Object>(
        &self,
        key: &K,
        event: &Event<Arc<T>>,
        steps: Steps,
        origin: &EventOrigin<T>,
        mut request: ParkedRequest,
    ) -> bool {
        let Some(windows) = &self.windows else { return false };
        let fights = &*self.fights;
        // Keys and objects are user code, which may panic: then the event requests a run.
        let parked = contained(|| {
            let is_open = windows.is_open(key);
            if !is_open && !fights.is_in_use() {
                return false;
            }
            let object = event.object().key();
            if fights.is_in_use() && fights.is_suspect(key, origin.informer, &object) {
                request.fields = origin.changed_fields(event);
            }
            if is_open
                && let Some(change) = ObjectChange::of(origin.informer, event, steps, origin.is_subject)
            {
                match windows.park(key, change, request) {
                    Ok(()) => return true,
                    Err(not_parked) => request = not_parked,
                }
            }
            if fights.is_in_use() {
                fights.record(key, origin.informer, &object, Side::Foreign, request.fields.as_deref());
            }
            false
        });
        parked.unwrap_or(false)
    }

    /// Records the trace before the key is queued, as a worker may take the key at once.
    pub(super) fn note(&self, key: &K, change: TracedChange) {
        if !contained(|| self.traces.note(key, change)).unwrap_or(true) {
            self.counters.untraced();
        }
    }

    /// Reports a panic of the map function. Keys that it pushed before are added nevertheless.
    pub(super) fn panicked(&self, panic: &Panic) {
        tracing::error!(source = %self.name, %panic, "a map function or predicate panicked on an event");
        self.counters.source_panics();
    }

    /// Adds a key. If the queue is full during the initial list, the source counts as synced once
    /// its cache is complete; the remaining keys are added as workers free capacity.
    pub(super) async fn put(&self, key: K, add: Add, has_synced: &(dyn Fn() -> bool + Send + Sync)) -> bool {
        let full = || {
            // Otherwise no worker would start, and none would free capacity.
            if has_synced() {
                let _ = self.synced.set(());
            }
        };
        put(&self.queue, &self.counters, key, add, full).await
    }
}

impl ParkedRequest {
    /// Requests the run. The key is in flight, so the queue has it and is never full for it.
    pub(super) fn submit<K: Request>(self, key: &K, queue: &Queue<K>, traces: &Traces<K>) {
        if let Some(change) = self.change {
            traces.note(key, change);
        }
        // A closed queue: the next start reconciles all objects.
        let _ = queue.add_ref(key, self.add);
    }
}

/// Adds a key with a custom cause.
pub(super) async fn add<K: Request>(
    queue: &Queue<K>,
    counters: &RunCounters,
    key: K,
    why: &'static &'static str,
) -> bool {
    put(queue, counters, key, Add::new().cause(Cause::new(why, 0)), || ()).await
}

/// Adds a key, waiting while the queue is full; meanwhile the informer coalesces events. Returns
/// `false` when the queue is closed.
async fn put<K: Request>(
    queue: &Queue<K>,
    counters: &RunCounters,
    mut key: K,
    add: Add,
    full: impl Fn(),
) -> bool {
    loop {
        // The tenant function of the queue is user code and may panic.
        let Ok(added) = contained(|| queue.add_with(key, add)) else {
            counters.source_panics();
            return true;
        };
        match added {
            Ok(_) => return true,
            Err(AddError::Full { key: back, .. }) => {
                counters.queue_full_waits();
                full();
                key = back;
                sleep(FULL_QUEUE_RETRY).await;
            }
            Err(_) => return false,
        }
    }
}
