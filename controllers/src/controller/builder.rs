//! The builder of controllers: sources, predicates, map functions and settings.

use std::fmt;
use std::sync::Arc;

use machinery_informers::{Informer, KeyedInformers, SelectorKey};
use machinery_objects::{Event, Kind, NameError, Object, ObjectKey, Scope};
use machinery_workqueue::Config;

use super::completions::CompletionSource;
use super::documents::Documents;
use super::handle::{Controller, ParseKey, PriorityOf, SubjectLookup};
use super::settings::Settings;
use super::source::{EventSource, InformerSource};
use crate::Request;
use crate::fights::FightHook;

/// Builds a [`Controller`] from its sources, predicates, map functions and settings.
#[must_use = "a builder does nothing until `build` is called"]
pub struct Builder<K, S> {
    pub(super) name: Arc<str>,
    pub(super) sources: Vec<Box<dyn EventSource<K>>>,
    pub(super) subject: Box<SubjectLookup<K, S>>,
    pub(super) parse_key: Option<ParseKey<K>>,
    pub(super) settings: Settings,
    pub(super) queue: Box<dyn Fn() -> Config<K> + Send + Sync>,
    pub(super) documents: Documents,
    pub(super) on_write_fight: Option<FightHook>,
    pub(super) priority: Option<Arc<PriorityOf<K>>>,
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

impl<K, S> fmt::Debug for Builder<K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("name", &self.name)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
