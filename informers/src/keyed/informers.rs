//! Keyed informers as their users have them.

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
use crate::deliver::{Closed, Delivery, Events, Lag, Registration, spawn};
use crate::lookup::{Lookup, LookupSnapshot};
use crate::reflect::ReflectorError;

/// The objects under the keys that somebody is interested in; of others nothing comes.
///
/// Where the source has streams of interest one of them does it all: it is edited as keys come and go, and an object is told once. From
/// any other source each key has a stream of its own, and an object that goes from one key to another may be under both, or under
/// none, until both have told.
///
/// Cheap to clone. They are made by a [builder](Self::builder), and know nothing until they [run](Self::run).
pub struct KeyedInformers<F: SelectorKey, T: Send + Sync + 'static>(Arc<Inner<F, T>>);

struct Inner<F: SelectorKey, T: Send + Sync + 'static> {
    shared: Arc<KeyedShared<F, T>>,
    tasks: TaskTracker,
    stopping: CancellationToken,
    has_run: AtomicBool,
}

/// Why there is no interest in a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AcquireError {
    /// There are as many keys as there may be.
    #[error("there are {limit} keys already: drop the interest in some, or allow more")]
    TooMany {
        /// How many there may be.
        limit: usize,
    },
    /// Nothing can be selected by it.
    #[error("nothing can be selected by the key {key:?}: {reason}")]
    Unselectable {
        /// Its text, or its beginning.
        key: String,
        /// Why not.
        reason: String,
    },
    /// They have stopped.
    #[error("the informers have stopped: make others")]
    Closed,
}

/// How keyed informers are, for people and for health checks.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KeyedState {
    /// How many keys there are.
    pub keys: usize,
    /// Of them, how many are complete.
    pub complete: usize,
    /// How many interests there are in them.
    pub interests: usize,
    /// How many names there are.
    pub names: usize,
    /// How many are told.
    pub handlers: usize,
    /// How far they are behind: the most of any, and the panics of all that there are.
    pub lag: Lag,
    /// How many streams there are.
    pub streams: u64,
    /// For how long nothing has come from the source.
    pub silent_for: Option<Duration>,
    /// How many of them are not up to date.
    pub troubled: usize,
    /// What keeps one of these from being so. It is tried again.
    pub trouble: Option<ReflectorError>,
    /// Objects that cannot be read, a thousand of them. One stream cannot say under which key such an object is: it stays here
    /// until it is read or gone, or all is told anew, or nobody is interested in anything.
    pub unreadable: Vec<Unreadable>,
    /// What has happened.
    pub counts: KeyedCounts,
}

/// A key has no longer text.
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

    /// Keeps what is wanted up to date and tells handlers, until the token is cancelled; returns when the last handler's call
    /// has.
    ///
    /// It needs a tokio runtime with time. They run once: a second run ends at once.
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

    /// An interest in a key. The first makes what is under it known, and dropping the last lets it go.
    ///
    /// # Errors
    /// There are too many keys, nothing can be selected by this one, or they have stopped.
    pub fn acquire(&self, key: F) -> Result<Interest<F, T>, AcquireError> {
        let shared = &self.0.shared;
        let text = text_of(&key)
            .map_err(|error| AcquireError::Unselectable { key: String::new(), reason: error.to_string() })?;
        let unselectable =
            |reason: String| AcquireError::Unselectable { key: text.chars().take(64).collect(), reason };
        if text.is_empty() {
            return Err(unselectable("it is empty, and what has no value is under no key".into()));
        }
        if text.len() > MAX_KEY_BYTES {
            return Err(unselectable(format!("it is longer than {MAX_KEY_BYTES} bytes")));
        }
        per_key::filter_for_key(&shared.filter, &shared.by, &text)
            .map_err(|error| unselectable(error.to_string()))?;
        match shared.keyed_cache.acquire(&key, Instant::now().into_std()) {
            Ok(tenure) => Ok(Interest { shared: shared.clone(), key, tenure }),
            Err(AcquireRefusal::TooMany(limit)) => Err(AcquireError::TooMany { limit }),
            Err(AcquireRefusal::Closed) => Err(AcquireError::Closed),
        }
    }

    /// Who has an object of this name.
    #[must_use]
    pub fn lookup(&self, name: &ObjectKey) -> Lookup<F, Arc<T>> {
        self.0.shared.keyed_cache.names.holders(name).map_or(Lookup::Absent, |held| held.lookup())
    }

    /// As [`lookup`](Self::lookup), but where several have one the latest version decides, if versions are ordered.
    #[must_use]
    pub fn newest(&self, name: &ObjectKey) -> Lookup<F, Arc<T>> {
        self.0.shared.keyed_cache.names.holders(name).map_or(Lookup::Absent, |held| held.newest())
    }

    /// All there is, as of one moment: by name, or by key.
    #[must_use]
    pub fn read(&self) -> LookupSnapshot<F, Arc<T>> {
        self.0.shared.keyed_cache.names.read()
    }

    /// Calls a function with what becomes of each object under each key, one at a time, beginning with what is there. Whatever
    /// changes of a name is told: so whoever lets an ambiguous name rest hears of its end.
    ///
    /// # Errors
    /// They have stopped.
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

    /// The same for whoever asks, one by one, with marks: after all that is there at the beginning, and whenever a key has become
    /// complete, with the number that its [interest](Interest::completed) has.
    ///
    /// # Errors
    /// They have stopped.
    pub fn events(&self) -> Result<Events<(F, ObjectKey), Arc<T>>, Closed> {
        let keyed_cache = &self.0.shared.keyed_cache;
        let events = keyed_cache.hub.register(
            Instant::now().into_std(),
            || keyed_cache.names.read(),
            |names, each| {
                names.iter().for_each(|(key, name, object)| each(&(key.clone(), name.clone()), object));
            },
        )?;
        keyed_cache.mark_complete();
        Ok(events)
    }

    /// What their source can do.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.0.shared.source.capabilities()
    }

    /// How they are.
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

/// Lets go of keys that have lingered long enough, for ever.
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

/// Lets all go, also where the run was dropped: nobody is to wait for ever.
struct KeyedCloseOnDrop<'a, F: SelectorKey, T: Send + Sync + 'static>(&'a Inner<F, T>);

impl<F: SelectorKey, T: Send + Sync + 'static> Drop for KeyedCloseOnDrop<'_, F, T> {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl<F: SelectorKey, T: Send + Sync + 'static> Inner<F, T> {
    fn close(&self) {
        self.shared.keyed_cache.close(Instant::now().into_std());
        self.shared.progress.close();
        self.stopping.cancel();
        self.tasks.close();
    }
}

/// Nobody can make them run any more.
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
