//! Where requests come from.

use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use machinery_informers::deliver::{Closed, Events, Told};
use machinery_objects::{Event, Mark, Object};
use machinery_sync::{Panic, contained};
use machinery_workqueue::{Add, AddError, Cause, Priority, Queue};
use tokio::sync::SetOnce;
use tokio::time::sleep;

use super::state::RunCounters;
use super::traces::{TracedChange, Traces};
use crate::Request;
use crate::causes::CauseNames;

/// Tells of requests until what it listens to has ended.
pub(super) trait EventSource<K: Request>: Send + Sync {
    /// By what its users know it.
    fn name(&self) -> &Arc<str>;

    /// Begins: the requests go into the feed, from that of everything that is there on.
    fn start(&self, feed: Feed<K>) -> Result<BoxFuture<'static, ()>, Closed>;
}

/// Where a source puts requests.
pub(super) struct Feed<K: Request> {
    pub(super) name: Arc<str>,
    pub(super) queue: Queue<K>,
    pub(super) counters: Arc<RunCounters>,
    pub(super) traces: Arc<Traces<K>>,
    /// What was there at the beginning is in the queue.
    pub(super) synced: Arc<SetOnce<()>>,
}

/// An informer as a source: how to listen to it, whether all that was there can be read, and whom an event is for.
pub(super) struct InformerSource<L, W> {
    pub(super) name: Arc<str>,
    pub(super) listen: L,
    /// None where there is no beginning that ends.
    pub(super) has_synced: Option<InitialSyncCheck>,
    /// Objects say the trace of their last change, and no older one.
    pub(super) tells_traces: bool,
    pub(super) map_keys: Arc<W>,
}

/// Whether a cache has all that was there at the beginning.
pub(super) type InitialSyncCheck = Arc<dyn Fn() -> bool + Send + Sync>;

/// So long until room in the queue is looked for again.
const FULL_QUEUE_RETRY: Duration = Duration::from_millis(10);

impl<K, N, T, L, W> EventSource<K> for InformerSource<L, W>
where
    K: Request,
    N: Hash + Eq + Clone + Send + Sync + 'static,
    T: Object,
    L: Fn() -> Result<Events<N, Arc<T>>, Closed> + Send + Sync,
    W: Fn(&N, &Event<Arc<T>>, &mut Vec<K>) + Send + Sync + 'static,
{
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn start(&self, feed: Feed<K>) -> Result<BoxFuture<'static, ()>, Closed> {
        let events = (self.listen)()?;
        let (map_keys, has_synced) = (self.map_keys.clone(), self.has_synced.clone());
        let has_synced = has_synced.unwrap_or_else(|| {
            let _ = feed.synced.set(());
            Arc::new(|| true)
        });
        let tells_traces = self.tells_traces;
        Ok(Box::pin(async move {
            forward_events(events, feed, has_synced, tells_traces, move |name, event, keys| {
                map_keys(name, event, keys)
            })
            .await;
        }))
    }
}

async fn forward_events<K, N, T>(
    mut events: Events<N, Arc<T>>,
    feed: Feed<K>,
    has_synced: InitialSyncCheck,
    tells_traces: bool,
    map_keys: impl Fn(&N, &Event<Arc<T>>, &mut Vec<K>) + Send,
) where
    K: Request,
    N: Hash + Eq + Clone + Send + Sync + 'static,
    T: Object,
{
    let (names, mut keys) = (CauseNames::of(&feed.name), Vec::new());
    while let Some(told) = events.next().await {
        match told {
            Told::Event(name, event) => {
                if let Err(panic) = contained(|| map_keys(&name, &event, &mut keys)) {
                    feed.panicked(&panic);
                }
                let is_initial = matches!(event, Event::Added { initial: true, .. });
                let priority = if is_initial { Priority::LOW } else { Priority::NORMAL };
                // The version and the trace are for the object to say, and that is the user's code.
                let add = Add::new().priority(priority);
                let add = contained(|| names.cause(&event)).map_or(add, |cause| add.cause(cause));
                let change = contained(|| TracedChange::of(&event, tells_traces)).ok().flatten();
                for key in keys.drain(..) {
                    if let Some(change) = change {
                        feed.note(&key, change);
                    }
                    if !feed.put(key, add, &*has_synced).await {
                        return;
                    }
                }
            }
            Told::Mark(Mark::Synced) => drop(feed.synced.set(())),
            Told::Mark(_) => {}
        }
    }
}

impl<K: Request> Feed<K> {
    /// Before the key is in the queue: whoever runs it by then sees the change already.
    fn note(&self, key: &K, change: TracedChange) {
        if !contained(|| self.traces.note(key, change)).unwrap_or(true) {
            self.counters.untraced();
        }
    }

    /// Keys that the function gave before are put all the same.
    pub(super) fn panicked(&self, panic: &Panic) {
        tracing::error!(source = %self.name, %panic, "a function of the controller panics on an event");
        self.counters.source_panics();
    }

    /// A beginning for which there is no room ends when all of it can be read: the rest waits for workers, as all that comes later does.
    pub(super) async fn put(&self, key: K, add: Add, has_synced: &(dyn Fn() -> bool + Send + Sync)) -> bool {
        let full = || {
            if has_synced() {
                let _ = self.synced.set(());
            }
        };
        put(&self.queue, &self.counters, key, add, full).await
    }
}

/// Adds a key at the request of whoever has a reason.
pub(super) async fn add<K: Request>(
    queue: &Queue<K>,
    counters: &RunCounters,
    key: K,
    why: &'static &'static str,
) -> bool {
    put(queue, counters, key, Add::new().cause(Cause::new(why, 0)), || ()).await
}

/// Waits where there is no room: what a source listens to keeps the latest of each object meanwhile. Whether it is to go on.
async fn put<K: Request>(
    queue: &Queue<K>,
    counters: &RunCounters,
    mut key: K,
    add: Add,
    full: impl Fn(),
) -> bool {
    loop {
        // Whose key it is may be asked of a function of the user's.
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
