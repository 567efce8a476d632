//! A controller of a plane.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use machinery_controllers::{
    Builder, Controller, LockKey, NameLocks, Reconcile, Request, Settings, ShutdownReport,
};
use machinery_informers::{Informer, KeyedInformers, Text};
use machinery_objects::{Event, Kind, Object, ObjectKey};
use machinery_workqueue::Config;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::error::PlaneError;
use super::handle::Plane;
use super::kinds::ObjectType;
use super::predicates::{deliver_finalizer_events, evaluate, owners};
use super::tasks::TaskGuard;
use crate::Error;

/// Makes a controller of a plane: which types it listens to is all it is told. It runs until the plane is stopped.
///
/// It is of objects (`Q` is their key, `S` an `Arc` of them), or of requests that are none (`Q` and `S` are the same).
#[must_use = "it does nothing before it runs"]
pub struct PlaneController<Q: Request, S> {
    pub(super) plane: Plane,
    name: String,
    /// Of which objects it is, if of any.
    kind: Option<Kind>,
    builder: Builder<Q, S>,
    /// Tell the controller what it does not hear.
    background: Vec<Box<Wake<Q, S>>>,
}

type Wake<Q, S> = dyn FnOnce(Controller<Q, S>, CancellationToken) -> BoxFuture<'static, ()> + Send + Sync;

impl<K: ObjectType> PlaneController<ObjectKey, Arc<K>> {
    pub(super) fn of_filtered(
        plane: &Plane,
        name: &str,
        predicate: impl Fn(&Event<Arc<K>>) -> bool + Send + Sync + 'static,
    ) -> Result<Self, PlaneError> {
        let objects = plane.objects::<K>()?;
        let builder = Controller::of_filtered(name, objects.informer(), deliver_finalizer_events(predicate));
        let (name, kind) = (name.to_owned(), Some(objects.kind().clone()));
        Ok(Self { plane: plane.clone(), name, kind, builder, background: Vec::new() })
    }

    /// Runs for what the objects own, too.
    ///
    /// # Errors
    /// The type's kind is called what Kubernetes does not allow, or the plane has stopped.
    pub fn owning<O: ObjectType>(mut self) -> Result<Self, PlaneError> {
        let (owned, owner) = (self.plane.objects::<O>()?, Kind::of::<K>()?);
        self.builder = self.builder.owning(owned.kind().plural(), owned.informer(), &owner);
        Ok(self)
    }

    /// The same, but events of what they own for which the function says no make no run: [`changed`](crate::changed) makes such functions.
    /// That one goes, is to go, or has another owner always makes one.
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

    /// Claims names: runs for what becomes of an object's locks, and for who waits when a name is free. One controller claims of these
    /// locks.
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
            async move { locks.wake(&controller, owners.informer(), stopping).await }.boxed()
        }));
        Ok(self)
    }
}

impl<Q: Request> PlaneController<Q, Q> {
    pub(super) fn of_requests(plane: &Plane, name: &str) -> Self {
        let builder = Controller::of_requests(name);
        Self { plane: plane.clone(), name: name.to_owned(), kind: None, builder, background: Vec::new() }
    }
}

impl<Q: Request, S: Send + Sync + 'static> PlaneController<Q, S> {
    /// Runs for these keys when something becomes of an object of another type. The function sees what was and what is.
    ///
    /// # Errors
    /// The type's kind is called what Kubernetes does not allow, or the plane has stopped.
    pub fn watching<O: ObjectType, W: IntoIterator<Item = Q>>(
        mut self,
        map_keys: impl Fn(&Event<Arc<O>>) -> W + Send + Sync + 'static,
    ) -> Result<Self, PlaneError> {
        let others = self.plane.objects::<O>()?;
        self.builder = self.builder.watching(others.kind().plural(), others.informer(), map_keys);
        Ok(self)
    }

    /// The same, but events for which the first function says no make no run. That an object goes or is to go always makes one.
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

    /// Runs for these keys when an event of an [informer of one's own](Plane::informer) says so. Whoever made it runs it.
    pub fn watching_informer<O: Object, W: IntoIterator<Item = Q>>(
        mut self,
        what: &str,
        objects: &Informer<O>,
        map_keys: impl Fn(&Event<Arc<O>>) -> W + Send + Sync + 'static,
    ) -> Self {
        self.builder = self.builder.watching(what, objects, map_keys);
        self
    }

    /// Listens to [keyed informers](Plane::keyed_informers), too: an event under one of their keys is for these. Whoever made them runs them.
    pub fn watching_keyed<F: Text, O: Object, W: IntoIterator<Item = Q>>(
        mut self,
        what: &str,
        objects: &KeyedInformers<F, O>,
        map_keys: impl Fn(&F, &Event<Arc<O>>) -> W + Send + Sync + 'static,
    ) -> Self {
        self.builder = self.builder.watching_keyed(what, objects, map_keys);
        self
    }

    /// Runs for these keys when all that is under a key of [keyed informers](Plane::keyed_informers) can be read, also if that is nothing.
    pub fn when_complete<F: Text, O: Object, W: IntoIterator<Item = Q>>(
        mut self,
        what: &str,
        objects: &KeyedInformers<F, O>,
        map_keys: impl Fn(&F) -> W + Send + Sync + 'static,
    ) -> Self {
        self.builder = self.builder.when_complete(what, objects, map_keys);
        self
    }

    /// Runs something beside it, until the token is cancelled, that may ask for runs: by [`Controller::request`]. It hears of what the
    /// controller does not listen to, or wakes those who wait. It goes on between the terms of one that is [led](Self::led).
    pub fn beside<R: Future<Output = ()> + Send + 'static>(
        mut self,
        run: impl FnOnce(Controller<Q, S>, CancellationToken) -> R + Send + Sync + 'static,
    ) -> Self {
        self.background.push(Box::new(|controller, stopping| run(controller, stopping).boxed()));
        self
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// May take as much, and as long.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.builder = self.builder.settings(settings);
        self
    }

    /// Makes its queue like this.
    pub fn queue(mut self, config: impl Fn() -> Config<Q> + Send + Sync + 'static) -> Self {
        self.builder = self.builder.queue(config);
        self
    }

    /// The controller, to look at it while it runs. What runs [beside](Self::beside) it, and who waits for names, is told only where the plane [runs](Self::run) it.
    ///
    /// # Errors
    /// A setting makes no sense, or another controller of the plane has the name.
    pub fn build(self) -> Result<Controller<Q, S>, Error> {
        let controller = self.builder.build()?;
        let registry = self.plane.registry();
        registry.controller_metrics().watch(&controller)?;
        registry.controller(self.kind.as_ref(), controller.diagnostics());
        Ok(controller)
    }

    /// The controller, and what is to run beside it.
    pub(super) fn split(mut self) -> Result<(Controller<Q, S>, BackgroundTasks), Error> {
        let (background, running) = (std::mem::take(&mut self.background), self.plane.controllers().clone());
        let name = format!("the controller {}", self.name);
        let stopping = self.plane.stopping().child_token();
        let controller = self.build()?;
        for task in background {
            running.spawn(&name, task(controller.clone(), stopping.clone()));
        }
        Ok((controller, BackgroundTasks { _ends: stopping.drop_guard(), _runs: running.register(&name) }))
    }

    /// Reconciles until the plane is stopped. Dropping the future drops what is under way.
    ///
    /// # Errors
    /// A setting makes no sense, or what it listens to does not come, or has ended.
    pub async fn run(self, reconcile: impl Reconcile<S>) -> Result<ShutdownReport<Q>, Error> {
        let stopping = self.plane.stopping().clone();
        let (controller, _beside) = self.split()?;
        Ok(controller.run(reconcile, stopping).await?)
    }
}

/// What runs beside a controller, as long as that does. Whoever stops the plane waits for both.
pub(super) struct BackgroundTasks {
    _ends: DropGuard,
    _runs: TaskGuard,
}

impl<Q: Request, S> fmt::Debug for PlaneController<Q, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlaneController").field("builder", &self.builder).finish_non_exhaustive()
    }
}
