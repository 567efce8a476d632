//! Event sources: informers with their map functions.

use std::hash::Hash;
use std::sync::Arc;

use futures::future::BoxFuture;
use machinery_informers::deliver::{Closed, Delivery, DeliveryProgress, Events};
use machinery_informers::{InformerId, ReflectorError};
use machinery_objects::{Bookmark, Event, Object};
use machinery_sync::contained;
use machinery_workqueue::{Add, Priority};

use super::feed::{EventOrigin, Feed, ParkedRequest};
use super::traces::TracedChange;
use crate::Request;
use crate::causes::CauseNames;

/// Puts keys into the queue until its informer stops.
pub(super) trait EventSource<K: Request>: Send + Sync {
    /// Name of the source, in errors and causes.
    fn name(&self) -> &Arc<str>;

    /// Returns the error because of which the source is not synced, if any.
    fn trouble(&self) -> Option<ReflectorError> {
        None
    }

    /// Starts the source: its keys go into the feed, beginning with those of the initial list.
    fn start(&self, feed: Feed<K>) -> Result<Feeding, Closed>;
}

/// A started source.
pub(super) struct Feeding {
    /// Delivers events until the informer stops.
    pub(super) run: BoxFuture<'static, ()>,
    /// The informer and the progress of its events, where they can be those of own writes.
    pub(super) progress: Option<(InformerId, DeliveryProgress)>,
}

/// An informer as a source: subscription, sync check and map function.
pub(super) struct InformerSource<L, W> {
    pub(super) name: Arc<str>,
    pub(super) listen: L,
    pub(super) informer: InformerId,
    /// The objects are the subjects of the controller.
    pub(super) is_subject: bool,
    /// `None` for keyed informers, which have no initial list that ends.
    pub(super) has_synced: Option<InitialSyncCheck>,
    pub(super) trouble: TroubleCheck,
    /// The source records the trace of an object's last change in the object, and no older one.
    pub(super) carries_traces: bool,
    pub(super) map_keys: Arc<W>,
}

/// Returns whether a cache has its initial list.
pub(super) type InitialSyncCheck = Arc<dyn Fn() -> bool + Send + Sync>;

/// Returns the error that keeps a cache from being current.
pub(super) type TroubleCheck = Arc<dyn Fn() -> Option<ReflectorError> + Send + Sync>;

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

    fn trouble(&self) -> Option<ReflectorError> {
        (self.trouble)()
    }

    fn start(&self, feed: Feed<K>) -> Result<Feeding, Closed> {
        let events = (self.listen)()?;
        let progress = feed.windows.is_some().then(|| (self.informer, events.progress()));
        let (map_keys, has_synced) = (self.map_keys.clone(), self.has_synced.clone());
        let has_synced = has_synced.unwrap_or_else(|| {
            let _ = feed.synced.set(());
            Arc::new(|| true)
        });
        let origin = EventOrigin {
            carries_traces: self.carries_traces,
            informer: self.informer,
            is_subject: self.is_subject,
            document: feed.documents.of::<T>(self.informer),
        };
        let run = Box::pin(async move {
            forward_events(events, feed, has_synced, origin, move |name, event, keys| {
                map_keys(name, event, keys)
            })
            .await;
        });
        Ok(Feeding { run, progress })
    }
}

async fn forward_events<K, N, T>(
    mut events: Events<N, Arc<T>>,
    feed: Feed<K>,
    has_synced: InitialSyncCheck,
    origin: EventOrigin<T>,
    map_keys: impl Fn(&N, &Event<Arc<T>>, &mut Vec<K>) + Send,
) where
    K: Request,
    N: Hash + Eq + Clone + Send + Sync + 'static,
    T: Object,
{
    let (names, mut keys) = (CauseNames::of(&feed.name), Vec::new());
    while let Some((delivered, steps)) = events.next_with_steps().await {
        match delivered {
            Delivery::Event(name, event) => {
                if let Err(panic) = contained(|| map_keys(&name, &event, &mut keys)) {
                    feed.panicked(&panic);
                }
                let is_initial = matches!(event, Event::Added { initial: true, .. });
                // A start lists all objects: changes made meanwhile should not wait for them.
                let priority = if is_initial { Priority::LOW } else { Priority::NORMAL };
                // Version and traceparent are read by user code, which may panic.
                let add = Add::new().priority(priority);
                let add = contained(|| names.cause(&event)).map_or(add, |cause| add.cause(cause));
                let change = contained(|| TracedChange::of(&event, origin.carries_traces)).ok().flatten();
                for key in keys.drain(..) {
                    let add = feed.prioritized(&key, add, priority);
                    let request = ParkedRequest { add, change, fields: None };
                    if feed.parked(&key, &event, steps, &origin, request) {
                        continue;
                    }
                    if let Some(change) = change {
                        feed.note(&key, change);
                    }
                    if !feed.put(key, add, &*has_synced).await {
                        return;
                    }
                }
            }
            // The mark follows the initial objects in the stream, so their keys are queued by now.
            Delivery::Mark(Bookmark::Synced) => drop(feed.synced.set(())),
            Delivery::Mark(_) => {}
        }
    }
}
