//! The builder of controllers: sources, predicates, map functions and settings.

use std::fmt;
use std::sync::Arc;

use machinery_informers::{Informer, KeyedInformers, SelectorKey};
use machinery_objects::{Event, Kind, NameError, Object, ObjectKey, Scope};
use machinery_workqueue::{Config, ConfigError, Priority, Queue, entropy};
use serde::Serialize;

use super::completions::CompletionSource;
use super::documents::Documents;
use super::handle::{Controller, ControllerSpec, ParseKey, PriorityOf, SubjectLookup};
use super::settings::Settings;
use super::source::{EventSource, InformerSource};
use crate::fights::FightHook;
use crate::{Request, WriteFight};

/// Builds a [`Controller`] from its sources, predicates, map functions and settings.
#[must_use = "a builder does nothing until `build` is called"]
pub struct Builder<K, S> {
    name: Arc<str>,
    sources: Vec<Box<dyn EventSource<K>>>,
    subject: Box<SubjectLookup<K, S>>,
    parse_key: Option<ParseKey<K>>,
    settings: Settings,
    queue: Box<dyn Fn() -> Config<K> + Send + Sync>,
    documents: Documents,
    on_write_fight: Option<FightHook>,
    priority: Option<Arc<PriorityOf<K>>>,
}

impl<K: Request, S: Send + Sync + 'static> Controller<K, S> {
    fn builder(name: &str, subject: impl Fn(&K) -> Option<S> + Send + Sync + 'static) -> Builder<K, S> {
        Builder {
            name: name.into(),
            sources: Vec::new(),
            subject: Box::new(subject),
            parse_key: None,
            settings: Settings::default(),
            queue: Box::new(Config::default),
            documents: Documents::default(),
            on_write_fight: None,
            priority: None,
        }
    }
}

impl<T: Object> Controller<ObjectKey, Arc<T>> {
    /// Returns a builder for a controller of the objects of an informer (controller-runtime's
    /// `For`): each object is reconciled initially and after every change. Deleted objects are not
    /// reconciled; clean-up belongs into a [`Finalizer`](crate::Finalizer).
    pub fn of(name: &str, objects: &Informer<T>) -> Builder<ObjectKey, Arc<T>> {
        Self::of_filtered(name, objects, |_| true)
    }

    /// Like [`of`](Self::of), with a predicate (controller-runtime's `predicate.Predicate`): an
    /// event for which it returns `false` requests no run. [`changed`] creates predicates. A panic
    /// of the predicate counts as `true`.
    pub fn of_filtered(
        name: &str,
        objects: &Informer<T>,
        predicate: impl Fn(&Event<Arc<T>>) -> bool + Send + Sync + 'static,
    ) -> Builder<ObjectKey, Arc<T>> {
        let of = objects.clone();
        let mut builder = Self::builder(name, move |key| of.get(key));
        builder.parse_key = Some(|text| text.parse().ok());
        builder.watching_source(name, objects, true, move |key, event, keys| {
            // The key is pushed first: if the predicate panics, one run too many is the safe
            // choice.
            keys.push(key.clone());
            if !predicate(event) {
                keys.pop();
            }
        })
    }
}

impl<K: Request> Controller<K, K> {
    /// Returns a builder for a controller of requests without objects: each key is its own subject.
    pub fn of_requests(name: &str) -> Builder<K, K> {
        Self::builder(name, |key: &K| Some(key.clone()))
    }
}

impl<K: Request, S: Send + Sync + 'static> Builder<K, S> {
    /// Adds an informer with a map function (controller-runtime's `Watches` and
    /// `handler.MapFunc`), which returns the keys to reconcile for an event of another kind. The
    /// function sees the old and the new state.
    pub fn watching<T, W>(
        self,
        what: &str,
        objects: &Informer<T>,
        map_keys: impl Fn(&Event<Arc<T>>) -> W + Send + Sync + 'static,
    ) -> Self
    where
        T: Object,
        W: IntoIterator<Item = K>,
    {
        self.watching_keys(what, objects, move |_, event, keys| keys.extend(map_keys(event)))
    }

    fn watching_keys<T: Object>(
        self,
        what: &str,
        objects: &Informer<T>,
        map_keys: impl Fn(&ObjectKey, &Event<Arc<T>>, &mut Vec<K>) + Send + Sync + 'static,
    ) -> Self {
        self.watching_source(what, objects, false, map_keys)
    }

    fn watching_source<T: Object>(
        mut self,
        what: &str,
        objects: &Informer<T>,
        is_subject: bool,
        map_keys: impl Fn(&ObjectKey, &Event<Arc<T>>, &mut Vec<K>) + Send + Sync + 'static,
    ) -> Self {
        let objects = objects.clone();
        let (of, of_id, troubled) = (objects.clone(), objects.id(), objects.clone());
        let carries_traces = objects.capabilities().carries_traces;
        let listen = move || objects.events();
        self.sources.push(Box::new(InformerSource {
            name: what.into(),
            listen,
            informer: of_id,
            is_subject,
            has_synced: Some(Arc::new(move || of.is_synced())),
            trouble: Arc::new(move || troubled.state().trouble),
            carries_traces,
            map_keys: Arc::new(map_keys),
        }));
        self
    }

    /// Adds keyed informers with a map function over key and event. Keyed informers have no initial
    /// list that ends, so no run waits for them; use [`when_complete`](Self::when_complete) to
    /// learn that a key is complete.
    pub fn watching_keyed<F, T, W>(
        mut self,
        what: &str,
        objects: &KeyedInformers<F, T>,
        map_keys: impl Fn(&F, &Event<Arc<T>>) -> W + Send + Sync + 'static,
    ) -> Self
    where
        F: SelectorKey,
        T: Object,
        W: IntoIterator<Item = K>,
    {
        let (objects, informer) = (objects.clone(), objects.id());
        let carries_traces = objects.capabilities().carries_traces;
        let listen = move || objects.events();
        let map_keys = move |(key, _): &(F, ObjectKey), event: &Event<Arc<T>>, keys: &mut Vec<K>| {
            keys.extend(map_keys(key, event));
        };
        self.sources.push(Box::new(InformerSource {
            name: what.into(),
            listen,
            informer,
            is_subject: false,
            has_synced: None,
            trouble: Arc::new(|| None),
            carries_traces,
            map_keys: Arc::new(map_keys),
        }));
        self
    }

    /// Reconciles the mapped keys when all objects under a key of keyed informers are cached, also
    /// when there are none. A reconciler that needs all of them returns early unless the interest
    /// [is synced](machinery_informers::Interest::is_synced), and is called again by this source.
    pub fn when_complete<F, T, W>(
        mut self,
        what: &str,
        objects: &KeyedInformers<F, T>,
        map_keys: impl Fn(&F) -> W + Send + Sync + 'static,
    ) -> Self
    where
        F: SelectorKey,
        T: Object,
        W: IntoIterator<Item = K>,
    {
        let map_keys = move |key: &F, keys: &mut Vec<K>| keys.extend(map_keys(key));
        self.sources.push(Box::new(CompletionSource {
            name: what.into(),
            objects: objects.clone(),
            map_keys: Arc::new(map_keys),
        }));
        self
    }

    /// Detects write fights over the objects of an informer that is a source of the controller:
    /// another writer and this controller undo each other's change of a field. A fight is reported
    /// with its field and manager, and slowed.
    pub fn detecting_fights<T: Object + Serialize>(mut self, objects: &Informer<T>) -> Self {
        self.documents.add::<T>(objects.id());
        self
    }

    /// Sets a function that is called when a write fight begins. It must not block.
    pub fn on_write_fight(mut self, report: impl Fn(&WriteFight) + Send + Sync + 'static) -> Self {
        self.on_write_fight = Some(Arc::new(report));
        self
    }

    /// Sets the priority of each key, instead of [`Priority::NORMAL`]. In the initial list it is
    /// lowered by that of [`Priority::LOW`]. It is called for each event of a key and should be
    /// quick, for instance a read of an informer. A panic counts as normal priority.
    pub fn prioritizing(mut self, priority: impl Fn(&K) -> Priority + Send + Sync + 'static) -> Self {
        self.priority = Some(Arc::new(priority));
        self
    }

    /// Sets the limits and timeouts of the controller.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the configuration of the work queue, which is created at each start: back-off,
    /// priorities, tenants, debouncing.
    pub fn queue(mut self, config: impl Fn() -> Config<K> + Send + Sync + 'static) -> Self {
        self.queue = Box::new(config);
        self
    }

    /// Builds the controller. It is inactive until [`run`](Controller::run).
    ///
    /// # Errors
    /// A setting is invalid.
    pub fn build(self) -> Result<Controller<K, S>, ConfigError> {
        let Self { name, sources, subject, parse_key, settings, queue, documents, on_write_fight, priority } =
            self;
        let documents = Arc::new(documents);
        match settings.workers {
            0 => return Err(ConfigError::NoWorkers),
            more if more > MAX_WORKERS => return Err(ConfigError::TooManyWorkers(more)),
            _ => {}
        }
        let config = queue();
        // One seed for queue and span IDs, so that a seeded run repeats both.
        let seed = config.seed.unwrap_or_else(entropy);
        // Only a check: each start of the controller builds a queue of its own.
        drop(Queue::manual(config)?);
        Ok(Controller::new(ControllerSpec {
            name,
            sources,
            subject,
            parse_key,
            settings,
            queue,
            seed,
            documents,
            on_write_fight,
            priority,
        }))
    }
}

impl<S: Send + Sync + 'static> Builder<ObjectKey, S> {
    /// Adds an informer of owned objects (controller-runtime's `Owns`): their events reconcile the
    /// present and former controlling owners of the given kind, by owner references.
    pub fn owning<T: Object>(self, what: &str, objects: &Informer<T>, owner: &Kind) -> Self {
        let owner = owner.clone();
        self.watching_keys(what, objects, move |key, event, keys| {
            // A changed owner reference concerns the former owner too: it may need a replacement.
            let before = match event {
                Event::Updated { old, .. } => Some(old),
                _ => None,
            };
            for object in before.into_iter().chain([event.object()]) {
                for owner in owners(&owner, key, &**object) {
                    if !keys.contains(&owner) {
                        keys.push(owner);
                    }
                }
            }
        })
    }
}

/// Returns the controlling owners of a kind. References with an invalid name are skipped.
fn owners(owner: &Kind, key: &ObjectKey, object: &impl Object) -> Vec<ObjectKey> {
    // References carry no namespace: an owner shares that of the object, or is cluster-scoped.
    let namespace = key.namespace().filter(|_| owner.scope() == Scope::Namespaced);
    let controllers =
        object.owners().into_iter().filter(|reference| reference.controller && reference.is_a(owner));
    let keys = controllers.map(|reference| ObjectKey::new(namespace, &reference.name));
    keys.filter_map(Result::<_, NameError>::ok).collect()
}

/// Returns a predicate (controller-runtime's `predicate.Predicate`): an update passes if the value
/// of `what` differs between the old and the new object.
///
/// Additions, deletions, and changes of UID, deletion timestamp and finalizers always pass: a
/// clean-up may wait for the finalizers of others.
pub fn changed<T: Object, V: PartialEq>(
    what: impl Fn(&T) -> V + Send + Sync + 'static,
) -> impl Fn(&Event<Arc<T>>) -> bool + Send + Sync + 'static {
    move |event| match event {
        Event::Updated { old, object } => {
            old.uid() != object.uid()
                || old.is_deleting() != object.is_deleting()
                || old.finalizers() != object.finalizers()
                || what(old) != what(object)
        }
        _ => true,
    }
}

const MAX_WORKERS: usize = 65_536;

impl<K, S> fmt::Debug for Builder<K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("name", &self.name)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
