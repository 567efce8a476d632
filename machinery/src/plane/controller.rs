//! Controllers of a plane.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use machinery_controllers::{
    Allocator, Builder, Controller, LockKey, Member, NameLocks, Owner, Pool, Request, Settings,
    SilenceChange, SilenceDetector,
};
use machinery_informers::{Informer, KeyedInformers, SelectorKey};
use machinery_objects::{Event, Kind, Object, ObjectKey, Scope};
use machinery_workqueue::{Config, Priority};
use tokio_util::sync::CancellationToken;

use super::error::PlaneError;
use super::handle::Plane;
use super::kinds::{ObjectType, PartialObject};
use super::predicates::{deliver_finalizer_events, evaluate, owners};
use super::runtime_kind::{KindName, RuntimeKind};
use super::written_fields::FieldPath;

/// Builds a controller of a plane from object types: controller-runtime's `Builder`. The plane
/// shares one informer per type. The controller runs until the plane is stopped.
///
/// A controller reconciles objects (`Q` is their key, `S` an `Arc` of them) or requests (`Q` and
/// `S` are the same type).
#[must_use = "it does nothing before it runs"]
pub struct PlaneController<Q: Request, S> {
    pub(super) plane: Plane,
    pub(super) name: String,
    /// Kind of the reconciled objects; `None` for requests.
    pub(super) kind: Option<ControlledKind>,
    pub(super) builder: Builder<Q, S>,
    /// The fields that the controller writes, by kind.
    pub(super) writes: Vec<(Kind, Vec<FieldPath>)>,
    /// Background tasks that request runs.
    pub(super) background: Vec<Box<Wake<Q, S>>>,
}

/// The kind of a controller's objects.
pub(super) enum ControlledKind {
    Typed(Kind),
    Named(KindName, Arc<dyn Fn() -> Option<Kind> + Send + Sync>),
}

impl ControlledKind {
    /// Returns the kind for diagnostics. One known by name has its version and scope only while it
    /// is served; the names that identify it are constant.
    pub(super) fn shown(&self) -> Option<Kind> {
        match self {
            Self::Typed(kind) => Some(kind.clone()),
            Self::Named(name, kind) => kind().or_else(|| {
                let version = name.version().unwrap_or("v1");
                let api_version = match name.group() {
                    "" => version.to_owned(),
                    group => format!("{group}/{version}"),
                };
                Kind::new(&api_version, name.plural(), name.plural(), Scope::Namespaced).ok()
            }),
        }
    }
}

pub(super) type Wake<Q, S> =
    dyn FnOnce(Controller<Q, S>, CancellationToken) -> BoxFuture<'static, ()> + Send + Sync;

impl<K: ObjectType> PlaneController<ObjectKey, Arc<K>> {
    pub(super) fn of_filtered(
        plane: &Plane,
        name: &str,
        predicate: impl Fn(&Event<Arc<K>>) -> bool + Send + Sync + 'static,
    ) -> Result<Self, PlaneError> {
        let objects = plane.objects::<K>()?;
        let builder = Controller::of_filtered(name, objects.informer(), deliver_finalizer_events(predicate))
            .detecting_fights(objects.informer());
        let (name, kind) = (name.to_owned(), Some(ControlledKind::Typed(objects.kind().clone())));
        let (plane, writes, background) = (plane.clone(), Vec::new(), Vec::new());
        Ok(Self { plane, name, kind, builder, writes, background })
    }

    /// Adds a type of owned objects (controller-runtime's `Owns`): their events reconcile the
    /// controlling owner, present and former.
    ///
    /// # Errors
    /// The type's kind is invalid, or the plane has stopped.
    pub fn owning<O: ObjectType>(mut self) -> Result<Self, PlaneError> {
        let (owned, owner) = (self.plane.objects::<O>()?, Kind::of::<K>()?);
        self.builder = self.builder.owning(owned.kind().plural(), owned.informer(), &owner);
        self.builder = self.builder.detecting_fights(owned.informer());
        Ok(self)
    }

    /// Like [`owning`](Self::owning), with a predicate on events of the owned objects; see
    /// [`changed`](crate::changed). Deletions, and changes of owner, UID, deletion timestamp and
    /// finalizers always pass.
    ///
    /// # Errors
    /// As [`owning`](Self::owning).
    pub fn owning_filtered<O: ObjectType>(
        self,
        predicate: impl Fn(&Event<Arc<O>>) -> bool + Send + Sync + 'static,
    ) -> Result<Self, PlaneError> {
        let owner = Kind::of::<K>()?;
        self.watching(owners(owner, predicate))
    }

    /// Adds name locks: events of a lock reconcile its owner, and the release of a name reconciles
    /// the waiters in order. A set of locks belongs to one controller.
    ///
    /// # Errors
    /// The plane has stopped.
    pub fn claiming<N: LockKey, L: ObjectType>(
        mut self,
        locks: &NameLocks<N, L>,
    ) -> Result<Self, PlaneError> {
        let (locks, owners) = (locks.clone(), self.plane.objects::<K>()?);
        self.builder = self.builder.owning(&L::plural(&()), locks.informer(), owners.kind());
        self.background.push(Box::new(move |controller, stopping| {
            locks.wake(&controller, owners.informer(), stopping).boxed()
        }));
        Ok(self)
    }
}

impl<K: ObjectType> PlaneController<ObjectKey, Arc<K>> {
    /// Adds an allocator: events of a lock reconcile its owner, and a freed member reconciles the
    /// longest waiter. `waiting` returns the pool that an owner waits for and since when, as the
    /// owner records it. An allocator belongs to one controller, and its locks are not
    /// [claimed](Self::claiming) otherwise.
    ///
    /// # Errors
    /// The plane has stopped.
    pub fn allocating<M: Member, L: ObjectType>(
        mut self,
        allocator: &Allocator<M, L>,
        waiting: impl Fn(&K) -> Option<(Pool<M>, Timestamp)> + Send + Sync + 'static,
    ) -> Result<Self, PlaneError> {
        let (allocator, owners) = (allocator.clone(), self.plane.objects::<K>()?);
        self.builder = self.builder.owning(&L::plural(&()), allocator.locks().informer(), owners.kind());
        self.background.push(Box::new(move |controller, stopping| {
            async move { allocator.run(&controller, owners.informer(), waiting, stopping).await }.boxed()
        }));
        Ok(self)
    }
}

impl<P: Object> PlaneController<ObjectKey, Arc<P>> {
    pub(super) fn of_named(plane: &Plane, name: &str, objects: &Informer<P>, kind: &RuntimeKind<P>) -> Self
    where
        P: PartialObject,
    {
        let named = kind.clone();
        let present = Arc::new(move || named.kind());
        let controlled = ControlledKind::Named(kind.name().clone(), present);
        let builder = Controller::of(name, objects);
        let (plane, name) = (plane.clone(), name.to_owned());
        Self { plane, name, kind: Some(controlled), builder, writes: Vec::new(), background: Vec::new() }
    }

    /// Returns the present kind of the objects, as owners.
    pub(super) fn owner(&self) -> Arc<dyn Fn() -> Option<Kind> + Send + Sync> {
        match &self.kind {
            Some(ControlledKind::Typed(kind)) => {
                let kind = kind.clone();
                Arc::new(move || Some(kind.clone()))
            }
            Some(ControlledKind::Named(_, kind)) => kind.clone(),
            None => Arc::new(|| None),
        }
    }
}

impl<Q: Request> PlaneController<Q, Q> {
    pub(super) fn of_requests(plane: &Plane, name: &str) -> Self {
        let builder = Controller::of_requests(name);
        let (plane, writes, background) = (plane.clone(), Vec::new(), Vec::new());
        Self { plane, name: name.to_owned(), kind: None, builder, writes, background }
    }
}

impl<Q: Request, S: Send + Sync + 'static> PlaneController<Q, S> {
    /// Adds another type with a map function (controller-runtime's `Watches` and
    /// `handler.MapFunc`), which returns the keys to reconcile for an event. The function sees the
    /// old and the new state.
    ///
    /// # Errors
    /// The type's kind is invalid, or the plane has stopped.
    pub fn watching<O: ObjectType, W: IntoIterator<Item = Q>>(
        mut self,
        map_keys: impl Fn(&Event<Arc<O>>) -> W + Send + Sync + 'static,
    ) -> Result<Self, PlaneError> {
        let others = self.plane.objects::<O>()?;
        self.builder = self.builder.watching(others.kind().plural(), others.informer(), map_keys);
        self.builder = self.builder.detecting_fights(others.informer());
        Ok(self)
    }

    /// Like [`watching`](Self::watching), with a predicate before the map function. Deletions, and
    /// changes of UID, deletion timestamp and finalizers always pass.
    ///
    /// # Errors
    /// As [`watching`](Self::watching).
    pub fn watching_filtered<O: ObjectType, W: IntoIterator<Item = Q>>(
        self,
        predicate: impl Fn(&Event<Arc<O>>) -> bool + Send + Sync + 'static,
        map_keys: impl Fn(&Event<Arc<O>>) -> W + Send + Sync + 'static,
    ) -> Result<Self, PlaneError> {
        let predicate = deliver_finalizer_events(predicate);
        self.watching(move |event: &Event<Arc<O>>| {
            evaluate(&predicate, event).then(|| map_keys(event)).into_iter().flatten()
        })
    }

    /// Adds a separate [informer](Plane::informer) with a map function. The caller runs the
    /// informer.
    pub fn watching_informer<O: Object, W: IntoIterator<Item = Q>>(
        mut self,
        what: &str,
        objects: &Informer<O>,
        map_keys: impl Fn(&Event<Arc<O>>) -> W + Send + Sync + 'static,
    ) -> Self {
        self.builder = self.builder.watching(what, objects, map_keys);
        self
    }

    /// Adds [keyed informers](Plane::keyed_informers) with a map function over key and event. The
    /// caller runs them.
    pub fn watching_keyed<F: SelectorKey, O: Object, W: IntoIterator<Item = Q>>(
        mut self,
        what: &str,
        objects: &KeyedInformers<F, O>,
        map_keys: impl Fn(&F, &Event<Arc<O>>) -> W + Send + Sync + 'static,
    ) -> Self {
        self.builder = self.builder.watching_keyed(what, objects, map_keys);
        self
    }

    /// Reconciles the mapped keys when all objects under a key of [keyed
    /// informers](Plane::keyed_informers) are cached, also when there are none.
    pub fn when_complete<F: SelectorKey, O: Object, W: IntoIterator<Item = Q>>(
        mut self,
        what: &str,
        objects: &KeyedInformers<F, O>,
        map_keys: impl Fn(&F) -> W + Send + Sync + 'static,
    ) -> Self {
        self.builder = self.builder.when_complete(what, objects, map_keys);
        self
    }

    /// Adds a background task that may request runs by [`Controller::request`], until its token is
    /// cancelled; for external event sources. It continues between the terms of a [led](Self::led)
    /// controller.
    pub fn beside<R: Future<Output = ()> + Send + 'static>(
        mut self,
        run: impl FnOnce(Controller<Q, S>, CancellationToken) -> R + Send + Sync + 'static,
    ) -> Self {
        self.background.push(Box::new(|controller, stopping| run(controller, stopping).boxed()));
        self
    }

    /// Declares fields that the controller writes, such as `status.address`; a field stands for all
    /// below it. Another controller of the plane that declares one of them is refused when it is
    /// built: two writers of one field undo each other.
    ///
    /// # Errors
    /// The type's kind is invalid, or a field is not a path of names.
    pub fn writing<O: ObjectType>(
        mut self,
        fields: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, PlaneError> {
        let paths = fields.into_iter().map(|field| FieldPath::new(field.as_ref()));
        self.writes.push((Kind::of::<O>()?, paths.collect::<Result<_, _>>()?));
        Ok(self)
    }

    /// Reconciles the keys that `map_keys` returns for each change of a
    /// [silence detector](Plane::silence): the overdue objects, or their owners. A detector belongs
    /// to one controller.
    pub fn on_silence<O: ObjectType, N: Owner, W: IntoIterator<Item = Q>>(
        self,
        detector: &SilenceDetector<O, N>,
        map_keys: impl Fn(SilenceChange<ObjectKey, N>) -> W + Send + Sync + 'static,
    ) -> Self
    where
        W::IntoIter: Send,
    {
        let detector = detector.clone();
        self.beside(|controller, stopping| async move {
            detector.request(&controller, stopping, map_keys).await;
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Sets the priority of each key, instead of [`Priority::NORMAL`]: of the ready keys the most
    /// urgent one runs next, and none starves. In the initial list it is lowered by that of
    /// [`Priority::LOW`].
    pub fn prioritizing(mut self, priority: impl Fn(&Q) -> Priority + Send + Sync + 'static) -> Self {
        self.builder = self.builder.prioritizing(priority);
        self
    }

    /// Sets limits and timeouts.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.builder = self.builder.settings(settings);
        self
    }

    /// Sets the configuration of the work queue.
    pub fn queue(mut self, config: impl Fn() -> Config<Q> + Send + Sync + 'static) -> Self {
        self.builder = self.builder.queue(config);
        self
    }
}

impl<Q: Request, S> fmt::Debug for PlaneController<Q, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlaneController").field("builder", &self.builder).finish_non_exhaustive()
    }
}
