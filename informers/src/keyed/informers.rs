//! The [`KeyedInformers`] handle: running, interests, lookups, handlers and state.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use machinery_objects::{Capabilities, Event, Object, ObjectKey, Unreadable};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::guard::Interest;
use super::keyed_cache::{AcquireRefusal, Name};
use super::selector_text::text_of;
use super::shared::{KeyedCounts, KeyedShared, SelectorKey};
use super::{per_key, stream};
use crate::InformerId;
use crate::deliver::{Closed, Delivery, Events, Lag, Registration, spawn};
use crate::lookup::{Lookup, LookupSnapshot};
use crate::reflect::ReflectorError;

/// Informers of the objects under acquired keys, for instance of one VNI each; other objects are
/// not received.
///
/// If the source has interest streams, one stream serves all keys and is edited as keys are
/// acquired and released. On other sources each key has a stream of its own; an object that moves
/// between keys may then be under both, or under none, until both streams have delivered the
/// change.
///
/// Cheap to clone. Created by a [builder](Self::builder), and empty until they [run](Self::run).
pub struct KeyedInformers<F: SelectorKey, T: Send + Sync + 'static>(Arc<Inner<F, T>>);

struct Inner<F: SelectorKey, T: Send + Sync + 'static> {
    shared: Arc<KeyedShared<F, T>>,
    tasks: TaskTracker,
    stopping: CancellationToken,
    has_run: AtomicBool,
}

/// The reason why a key cannot be acquired.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AcquireError {
    /// The limit of keys is reached.
    #[error("there are {limit} keys already: drop the interest in some, or allow more")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// The key is not valid in a selector.
    #[error("nothing can be selected by the key {key:?}: {reason}")]
    Unselectable {
        /// The text of the key, truncated.
        key: String,
        /// The reason.
        reason: String,
    },
    /// The informers have stopped.
    #[error("the informers have stopped: make others")]
    Closed,
}

/// The state of keyed informers, for people and for health checks.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KeyedState {
    /// Number of keys.
    pub keys: usize,
    /// Number of complete keys.
    pub complete: usize,
    /// Number of interests.
    pub interests: usize,
    /// Number of object names (namespace and name) in the cache.
    pub names: usize,
    /// Number of handlers.
    pub handlers: usize,
    /// The maximum lag of the handlers, and the sum of their panics.
    pub lag: Lag,
    /// Number of streams.
    pub streams: u64,
    /// Time since the last event of the source.
    pub silent_for: Option<Duration>,
    /// Number of streams with an error.
    pub troubled: usize,
    /// The error of one of them; it is retried.
    pub trouble: Option<ReflectorError>,
    /// Unreadable objects, at most a thousand. On one stream the key of such an object is unknown,
    /// so it stays here until it is readable or deleted, all keys are relisted, or no interest is
    /// left.
    pub unreadable: Vec<Unreadable>,
    /// Counters.
    pub counts: KeyedCounts,
}

/// Maximum length of a key's text.
const MAX_KEY_BYTES: usize = 512;

impl<F: SelectorKey, T: Object> KeyedInformers<F, T> {
    pub(super) fn new(shared: KeyedShared<F, T>) -> Self {
        Self(Arc::new(Inner {
            shared: Arc::new(shared),
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
            has_run: AtomicBool::new(false),
        }))
    }

    pub(super) fn shared(&self) -> &Arc<KeyedShared<F, T>> {
        &self.0.shared
    }

    /// Runs the streams and the handlers until the token is cancelled; returns when the last
    /// running handler call has returned.
    ///
    /// Needs a tokio runtime with time. They run once: a second run returns at once.
    pub fn run(&self, stopping: CancellationToken) -> impl Future<Output = ()> + Send + use<F, T> {
        let inner = self.0.clone();
        async move {
            let Inner { shared, tasks, stopping: stop, has_run } = &*inner;
            if has_run.swap(true, Ordering::AcqRel) {
                return;
            }
            let streams = async {
                match shared.source.interests().filter(|_| !shared.per_key) {
                    Some(source) => stream::run(shared, source).await,
                    None => per_key::run(shared, tasks).await,
                }
            };
            let closing = KeyedCloseOnDrop(&inner);
            tokio::select! {
                biased;
                () = stopping.cancelled() => {}
                () = stop.cancelled() => {}
                () = streams => {}
                () = linger(shared) => {}
            }
            drop(closing);
            tasks.wait().await;
        }
    }

    /// Acquires an interest in a key. The first one starts caching its objects, and dropping the
    /// last one releases them.
    ///
    /// # Errors
    /// The limit of keys is reached, the key is not valid in a selector, or the informers have
    /// stopped.
    pub fn acquire(&self, key: F) -> Result<Interest<F, T>, AcquireError> {
        let shared = &self.0.shared;
        let text = text_of(&key)
            .map_err(|error| AcquireError::Unselectable { key: String::new(), reason: error.to_string() })?;
        let unselectable =
            |reason: String| AcquireError::Unselectable { key: text.chars().take(64).collect(), reason };
        if text.is_empty() {
            return Err(unselectable("it is empty, and an object without a value has no key".into()));
        }
        // The limit of an interest watch, checked here, where the caller can handle it.
        if text.len() > MAX_KEY_BYTES {
            return Err(unselectable(format!("it is longer than {MAX_KEY_BYTES} bytes")));
        }
        // Also for interest streams, so that the valid keys do not depend on the source.
        per_key::filter_for_key(&shared.filter, &shared.by, &text)
            .map_err(|error| unselectable(error.to_string()))?;
        match shared.keyed_cache.acquire(&key, Instant::now().into_std()) {
            Ok(tenure) => Ok(Interest { shared: shared.clone(), key, tenure }),
            Err(AcquireRefusal::TooMany(limit)) => Err(AcquireError::TooMany { limit }),
            Err(AcquireRefusal::Closed) => Err(AcquireError::Closed),
        }
    }

    /// Returns the object with this name and the key that holds it; several keys while the object
    /// moves between them.
    #[must_use]
    pub fn lookup(&self, name: &ObjectKey) -> Lookup<F, Arc<T>> {
        self.0.shared.keyed_cache.names.holders(name).map_or(Lookup::Absent, |held| held.lookup())
    }

    /// As [`lookup`](Self::lookup), but several holders are resolved to the latest version, if
    /// versions are ordered.
    #[must_use]
    pub fn newest(&self, name: &ObjectKey) -> Lookup<F, Arc<T>> {
        self.0.shared.keyed_cache.names.holders(name).map_or(Lookup::Absent, |held| held.newest())
    }

    /// Returns a snapshot of all objects, by name and by key.
    #[must_use]
    pub fn read(&self) -> LookupSnapshot<F, Arc<T>> {
        self.0.shared.keyed_cache.names.read()
    }

    /// Adds an event handler (client-go's `AddEventHandler`), called with one event at a time,
    /// first with those of the cached objects. Each change of a name is an event, so also the end
    /// of an ambiguity.
    ///
    /// # Errors
    /// The informers have stopped.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn add_handler(
        &self,
        mut handle: impl FnMut(&F, Event<Arc<T>>) + Send + 'static,
    ) -> Result<Registration, Closed> {
        let events = self.events()?;
        let of_objects = move |delivery: Delivery<Name<F>, Arc<T>>| match delivery {
            Delivery::Event((key, _), event) => handle(&key, event),
            Delivery::Mark(_) => {}
        };
        Ok(spawn(events, &self.0.tasks, self.0.stopping.clone(), of_objects))
    }

    /// Adds an event handler that pulls its events and marks one by one.
    ///
    /// [`Bookmark::Synced`](machinery_objects::Bookmark::Synced) follows the cached objects.
    /// [`Bookmark::Complete`](machinery_objects::Bookmark::Complete) follows the objects of a key
    /// that became complete, with its [completion number](Interest::completed) or a greater one.
    ///
    /// # Errors
    /// The informers have stopped.
    pub fn events(&self) -> Result<Events<(F, ObjectKey), Arc<T>>, Closed> {
        let keyed_cache = &self.0.shared.keyed_cache;
        let events = keyed_cache.hub.register(
            Instant::now().into_std(),
            || keyed_cache.names.read(),
            |names, each| {
                names.iter().for_each(|(key, name, object)| each(&(key.clone(), name.clone()), object));
            },
        )?;
        // The handler missed the earlier marks; the greatest number stands for all of them.
        keyed_cache.mark_complete();
        Ok(events)
    }

    /// Returns the identity of the informers, which their clones share.
    #[must_use]
    pub fn id(&self) -> InformerId {
        InformerId::of_address(Arc::as_ptr(&self.0).addr())
    }

    /// Returns the capabilities of the source.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.0.shared.source.capabilities()
    }

    /// Returns the state of the informers.
    #[must_use]
    pub fn state(&self) -> KeyedState {
        self.0.state()
    }
}

impl<F: SelectorKey, T: Object> Inner<F, T> {
    fn state(&self) -> KeyedState {
        let shared = &self.shared;
        let (keys, interests, complete) = shared.keyed_cache.counts();
        let now = Instant::now().into_std();
        let (handlers, lag) = (shared.keyed_cache.hub.len(), shared.keyed_cache.hub.lag(now));
        let names = shared.keyed_cache.names.read().len();
        let report = shared.report.lock();
        KeyedState {
            keys,
            complete,
            interests,
            names,
            handlers,
            lag,
            streams: shared.streams.load(Ordering::Relaxed),
            silent_for: report.last_event.map(|last_event| now.saturating_duration_since(last_event)),
            troubled: report.troubles.len(),
            trouble: report.troubles.values().next().cloned(),
            unreadable: if keys == 0 { Vec::new() } else { report.unreadable() },
            counts: report.counts,
        }
    }
}

#[cfg(feature = "prometheus")]
impl<F: SelectorKey, T: Object> KeyedInformers<F, T> {
    pub(crate) fn observed(&self) -> std::sync::Weak<dyn crate::metrics::ObservedInformer> {
        let observed: std::sync::Weak<Inner<F, T>> = Arc::downgrade(&self.0);
        observed
    }
}

#[cfg(feature = "prometheus")]
impl<F: SelectorKey, T: Object> crate::metrics::ObservedInformer for Inner<F, T> {
    fn observe(&self) -> crate::metrics::ObservedState {
        crate::metrics::ObservedState::Keyed(Box::new(self.state()))
    }
}

/// Releases keys at the end of their linger time, for ever.
async fn linger<F: SelectorKey, T: Object>(shared: &KeyedShared<F, T>) {
    if shared.linger.is_zero() {
        std::future::pending::<()>().await;
    }
    loop {
        let listener = shared.keyed_cache.listen_interests();
        match shared.keyed_cache.expire_lingering(Instant::now().into_std()) {
            None => listener.await,
            Some(due) => tokio::select! {
                biased;
                () = listener => {}
                () = sleep_until(Instant::from_std(due)) => {}
            },
        }
    }
}

/// Closes the informers, also when their run is dropped, so that no waiter waits for ever.
struct KeyedCloseOnDrop<'a, F: SelectorKey, T: Send + Sync + 'static>(&'a Inner<F, T>);

impl<F: SelectorKey, T: Send + Sync + 'static> Drop for KeyedCloseOnDrop<'_, F, T> {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl<F: SelectorKey, T: Send + Sync + 'static> Inner<F, T> {
    fn close(&self) {
        // In this order: a waiter woken by the progress must find the cache closed.
        self.shared.keyed_cache.close(Instant::now().into_std());
        self.shared.progress.close();
        self.stopping.cancel();
        self.tasks.close();
    }
}

/// Closes informers that were dropped before they ran.
impl<F: SelectorKey, T: Send + Sync + 'static> Drop for Inner<F, T> {
    fn drop(&mut self) {
        self.close();
    }
}

impl<F: SelectorKey, T: Send + Sync + 'static> Clone for KeyedInformers<F, T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<F: SelectorKey, T: Send + Sync + 'static> fmt::Debug for KeyedInformers<F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (keys, interests, complete) = self.0.shared.keyed_cache.counts();
        f.debug_struct("KeyedInformers")
            .field("keys", &keys)
            .field("interests", &interests)
            .field("complete", &complete)
            .finish_non_exhaustive()
    }
}
