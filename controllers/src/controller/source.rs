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

use super::state::Tally;
use super::traces::{Change, Traces};
use crate::Request;
use crate::why::Names;

/// Tells of requests until what it listens to has ended.
pub(super) trait Source<K: Request>: Send + Sync {
    /// By what its users know it.
    fn name(&self) -> &Arc<str>;

    /// Begins: the requests go into the feed, from that of everything that is there on.
    fn begin(&self, feed: Feed<K>) -> Result<BoxFuture<'static, ()>, Closed>;
}

/// Where a source puts requests.
pub(super) struct Feed<K: Request> {
    pub(super) name: Arc<str>,
    pub(super) queue: Queue<K>,
    pub(super) tally: Arc<Tally>,
    pub(super) traces: Arc<Traces<K>>,
    /// What was there at the beginning is in the queue.
    pub(super) begun: Arc<SetOnce<()>>,
}

/// An informer as a source: how to listen to it, whether all that was there can be read, and whom an event is for.
pub(super) struct Listening<L, W> {
    pub(super) name: Arc<str>,
    pub(super) listen: L,
    /// None where there is no beginning that ends.
    pub(super) is_whole: Option<IsWhole>,
    /// Objects say the trace of their last change, and no older one.
    pub(super) tells_traces: bool,
    pub(super) whom: Arc<W>,
}

/// Whether a cache has all that was there at the beginning.
pub(super) type IsWhole = Arc<dyn Fn() -> bool + Send + Sync>;

/// So long until room in the queue is looked for again.
const FULL: Duration = Duration::from_millis(10);

impl<K, N, T, L, W> Source<K> for Listening<L, W>
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

    fn begin(&self, feed: Feed<K>) -> Result<BoxFuture<'static, ()>, Closed> {
        let events = (self.listen)()?;
        let (whom, is_whole) = (self.whom.clone(), self.is_whole.clone());
        let is_whole = is_whole.unwrap_or_else(|| {
            let _ = feed.begun.set(());
            Arc::new(|| true)
        });
        let tells_traces = self.tells_traces;
        Ok(Box::pin(async move {
            listen(events, feed, is_whole, tells_traces, move |name, event, keys| whom(name, event, keys))
                .await;
        }))
    }
}

async fn listen<K, N, T>(
    mut events: Events<N, Arc<T>>,
    feed: Feed<K>,
    is_whole: IsWhole,
    tells_traces: bool,
    whom: impl Fn(&N, &Event<Arc<T>>, &mut Vec<K>) + Send,
) where
    K: Request,
    N: Hash + Eq + Clone + Send + Sync + 'static,
    T: Object,
{
    let (names, mut keys) = (Names::of(&feed.name), Vec::new());
    while let Some(told) = events.next().await {
        match told {
            Told::Event(name, event) => {
                if let Err(panic) = contained(|| whom(&name, &event, &mut keys)) {
                    feed.panicked(&panic);
                }
                let is_initial = matches!(event, Event::Added { initial: true, .. });
                let priority = if is_initial { Priority::LOW } else { Priority::NORMAL };
                // The version and the trace are for the object to say, and that is the user's code.
                let add = Add::new().priority(priority);
                let add = contained(|| names.cause(&event)).map_or(add, |cause| add.cause(cause));
                let change = contained(|| Change::of(&event, tells_traces)).ok().flatten();
                for key in keys.drain(..) {
                    if let Some(change) = change {
                        feed.note(&key, change);
                    }
                    if !feed.put(key, add, &*is_whole).await {
                        return;
                    }
                }
            }
            Told::Mark(Mark::Synced) => drop(feed.begun.set(())),
            Told::Mark(_) => {}
        }
    }
}

impl<K: Request> Feed<K> {
    /// Before the key is in the queue: whoever runs it by then sees the change already.
    fn note(&self, key: &K, change: Change) {
        if !contained(|| self.traces.note(key, change)).unwrap_or(true) {
            self.tally.untraced();
        }
    }

    /// Keys that the function gave before are put all the same.
    pub(super) fn panicked(&self, panic: &Panic) {
        tracing::error!(source = %self.name, %panic, "a function of the controller panics on an event");
        self.tally.source_panics();
    }

    /// A beginning for which there is no room ends when all of it can be read: the rest waits for workers, as all that comes later does.
    pub(super) async fn put(&self, key: K, add: Add, is_whole: &(dyn Fn() -> bool + Send + Sync)) -> bool {
        let full = || {
            if is_whole() {
                let _ = self.begun.set(());
            }
        };
        put(&self.queue, &self.tally, key, add, full).await
    }
}

/// Adds a key at the request of whoever has a reason.
pub(super) async fn add<K: Request>(
    queue: &Queue<K>,
    tally: &Tally,
    key: K,
    why: &'static &'static str,
) -> bool {
    put(queue, tally, key, Add::new().cause(Cause::new(why, 0)), || ()).await
}

/// Waits where there is no room: what a source listens to keeps the latest of each object meanwhile. Whether it is to go on.
async fn put<K: Request>(queue: &Queue<K>, tally: &Tally, mut key: K, add: Add, full: impl Fn()) -> bool {
    loop {
        // Whose key it is may be asked of a function of the user's.
        let Ok(added) = contained(|| queue.add_with(key, add)) else {
            tally.source_panics();
            return true;
        };
        match added {
            Ok(_) => return true,
            Err(AddError::Full { key: back, .. }) => {
                tally.waited_for_room();
                full();
                key = back;
                sleep(FULL).await;
            }
            Err(_) => return false,
        }
    }
}
