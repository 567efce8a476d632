//! What a controller is made of.

use std::fmt;
use std::sync::Arc;

use machinery_informers::{Informer, KeyedInformers, Text};
use machinery_objects::{Event, Kind, NameError, Object, ObjectKey, Scope};
use machinery_workqueue::{Config, ConfigError, Queue, entropy};

use super::completions::CompletionSource;
use super::handle::{Controller, ControllerSpec, ParseKey, SubjectLookup};
use super::settings::Settings;
use super::source::{EventSource, InformerSource};
use crate::Request;

/// Makes a [`Controller`]: what it listens to, and what it may take.
#[must_use = "a builder makes nothing until it is told to build"]
pub struct Builder<K, S> {
    name: Arc<str>,
    sources: Vec<Box<dyn EventSource<K>>>,
    subject: Box<SubjectLookup<K, S>>,
    parse_key: Option<ParseKey<K>>,
    settings: Settings,
    queue: Box<dyn Fn() -> Config<K> + Send + Sync>,
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
        }
    }
}

impl<T: Object> Controller<ObjectKey, Arc<T>> {
    /// A controller of the objects of an informer: each of them is reconciled when it is there and whenever it changes. Of one that is gone
    /// nothing runs: what must be done then is for a finalizer.
    pub fn of(name: &str, objects: &Informer<T>) -> Builder<ObjectKey, Arc<T>> {
        Self::of_filtered(name, objects, |_| true)
    }

    /// The same, but events of these objects for which the function says no make no run: [`changed`] makes such functions. Where it panics
    /// there is a run.
    pub fn of_filtered(
        name: &str,
        objects: &Informer<T>,
        predicate: impl Fn(&Event<Arc<T>>) -> bool + Send + Sync + 'static,
    ) -> Builder<ObjectKey, Arc<T>> {
        let of = objects.clone();
        let mut builder = Self::builder(name, move |key| of.get(key));
        builder.parse_key = Some(|text| text.parse().ok());
        builder.watching_keys(name, objects, move |key, event, keys| {
            // Before it is asked: if it panics the key runs, better once too often.
            keys.push(key.clone());
            if !predicate(event) {
                keys.pop();
            }
        })
    }
}

impl<K: Request> Controller<K, K> {
    /// A controller of requests that are no objects: each key is a subject itself.
    pub fn of_requests(name: &str) -> Builder<K, K> {
        Self::builder(name, |key: &K| Some(key.clone()))
    }
}

impl<K: Request, S: Send + Sync + 'static> Builder<K, S> {
    /// Listens to an informer too: an event of one of its objects is for these keys. The function sees what was and what is.
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
        mut self,
        what: &str,
        objects: &Informer<T>,
        map_keys: impl Fn(&ObjectKey, &Event<Arc<T>>, &mut Vec<K>) + Send + Sync + 'static,
    ) -> Self {
        let objects = objects.clone();
        let of = objects.clone();
        let tells_traces = objects.capabilities().tells_traces;
        let listen = move || objects.events();
        self.sources.push(Box::new(InformerSource {
            name: what.into(),
            listen,
            has_synced: Some(Arc::new(move || of.is_synced())),
            tells_traces,
            map_keys: Arc::new(map_keys),
        }));
        self
    }

    /// Listens to keyed informers: an event under one of their keys is for these. Where interests come and go there is no beginning that
    /// ends, so no run waits for it: [`when_complete`](Self::when_complete) tells when all of a key is there.
    pub fn watching_keyed<F, T, W>(
        mut self,
        what: &str,
        objects: &KeyedInformers<F, T>,
        map_keys: impl Fn(&F, &Event<Arc<T>>) -> W + Send + Sync + 'static,
    ) -> Self
    where
        F: Text,
        T: Object,
        W: IntoIterator<Item = K>,
    {
        let objects = objects.clone();
        let tells_traces = objects.capabilities().tells_traces;
        let listen = move || objects.events();
        let map_keys = move |(key, _): &(F, ObjectKey), event: &Event<Arc<T>>, keys: &mut Vec<K>| {
            keys.extend(map_keys(key, event));
        };
        self.sources.push(Box::new(InformerSource {
            name: what.into(),
            listen,
            has_synced: None,
            tells_traces,
            map_keys: Arc::new(map_keys),
        }));
        self
    }

    /// Runs for these keys when all that is under a key of keyed informers can be read, also if that is nothing: whoever needs all of it
    /// looks whether an interest [is synced](machinery_informers::Interest::is_synced), does nothing if not, and is called again by this.
    pub fn when_complete<F, T, W>(
        mut self,
        what: &str,
        objects: &KeyedInformers<F, T>,
        map_keys: impl Fn(&F) -> W + Send + Sync + 'static,
    ) -> Self
    where
        F: Text,
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

    /// May take as much, and as long.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Makes its queue like this, each time it runs: back-off, priorities, tenants, debouncing.
    pub fn queue(mut self, config: impl Fn() -> Config<K> + Send + Sync + 'static) -> Self {
        self.queue = Box::new(config);
        self
    }

    /// Makes it. It does nothing until it [runs](Controller::run).
    ///
    /// # Errors
    /// A setting makes no sense.
    pub fn build(self) -> Result<Controller<K, S>, ConfigError> {
        let Self { name, sources, subject, parse_key, settings, queue } = self;
        match settings.workers {
            0 => return Err(ConfigError::NoWorkers),
            more if more > MAX_WORKERS => return Err(ConfigError::TooManyWorkers(more)),
            _ => {}
        }
        let config = queue();
        let seed = config.seed.unwrap_or_else(entropy);
        drop(Queue::manual(config)?);
        Ok(Controller::new(ControllerSpec { name, sources, subject, parse_key, settings, queue, seed }))
    }
}

impl<S: Send + Sync + 'static> Builder<ObjectKey, S> {
    /// Listens to what the subjects own: an event of one of these objects is for those of this kind that look after it, or did.
    pub fn owning<T: Object>(self, what: &str, objects: &Informer<T>, owner: &Kind) -> Self {
        let owner = owner.clone();
        self.watching_keys(what, objects, move |key, event, keys| {
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

/// The owners of a kind that look after an object. A reference to a name that can be none is to nobody.
fn owners(owner: &Kind, key: &ObjectKey, object: &impl Object) -> Vec<ObjectKey> {
    let namespace = key.namespace().filter(|_| owner.scope() == Scope::Namespaced);
    let controllers =
        object.owners().into_iter().filter(|reference| reference.controller && reference.is_a(owner));
    let keys = controllers.map(|reference| ObjectKey::new(namespace, &reference.name));
    keys.filter_map(Result::<_, NameError>::ok).collect()
}

/// Whether something of an object is another than before: for updates that are of no interest otherwise. That it is to go, and who has work to do
/// before it may, is always of interest: else nobody would take their finalizer away. So is that it is another one of its name.
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
