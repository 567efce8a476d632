//! A controller of a plane.

use std::fmt;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use machinery_controllers::{Builder, Controller, Ended, LockKey, NameLocks, Reconcile, Settings};
use machinery_informers::{KeyedInformers, Text};
use machinery_objects::{Event, Kind, Object, ObjectKey};
use machinery_workqueue::Config;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::error::PlaneError;
use super::kinds::ObjectType;
use super::road::Plane;
use crate::Error;

/// Makes a controller of a plane: which types it listens to is all it is told. It runs until the plane is stopped.
#[must_use = "it does nothing before it runs"]
pub struct PlaneController<K> {
    pub(super) plane: Plane,
    kind: Kind,
    builder: Builder<ObjectKey, Arc<K>>,
    /// Tell the controller of names that came free.
    wakes: Vec<Box<Wake<K>>>,
}

type Wake<K> =
    dyn FnOnce(Controller<ObjectKey, Arc<K>>, CancellationToken) -> BoxFuture<'static, ()> + Send + Sync;

impl<K: ObjectType> PlaneController<K> {
    pub(super) fn new(plane: &Plane, name: &str) -> Result<Self, PlaneError> {
        let objects = plane.objects::<K>()?;
        let builder = Controller::of(name, objects.informer());
        Ok(Self { plane: plane.clone(), kind: objects.kind().clone(), builder, wakes: Vec::new() })
    }

    /// Runs for what the objects own, too.
    ///
    /// # Errors
    /// The type's kind is called what Kubernetes does not allow, or the plane has stopped.
    pub fn owning<O: ObjectType>(mut self) -> Result<Self, PlaneError> {
        let owned = self.plane.objects::<O>()?;
        self.builder = self.builder.owning(owned.kind().plural(), owned.informer(), &self.kind);
        Ok(self)
    }

    /// Runs for these keys when something becomes of an object of another type. The function sees what was and what is.
    ///
    /// # Errors
    /// The type's kind is called what Kubernetes does not allow, or the plane has stopped.
    pub fn watching<O: ObjectType, W: IntoIterator<Item = ObjectKey>>(
        mut self,
        whom: impl Fn(&Event<Arc<O>>) -> W + Send + Sync + 'static,
    ) -> Result<Self, PlaneError> {
        let others = self.plane.objects::<O>()?;
        self.builder = self.builder.watching(others.kind().plural(), others.informer(), whom);
        Ok(self)
    }

    /// Listens to [keyed informers](Plane::keyed_informers), too: an event under one of their keys is for these. Whoever made them runs them.
    pub fn watching_keyed<F: Text, O: Object, W: IntoIterator<Item = ObjectKey>>(
        mut self,
        what: &str,
        objects: &KeyedInformers<F, O>,
        whom: impl Fn(&F, &Event<Arc<O>>) -> W + Send + Sync + 'static,
    ) -> Self {
        self.builder = self.builder.watching_keyed(what, objects, whom);
        self
    }

    /// Runs for these keys when all that is under a key of [keyed informers](Plane::keyed_informers) can be read, also if that is nothing.
    pub fn when_complete<F: Text, O: Object, W: IntoIterator<Item = ObjectKey>>(
        mut self,
        what: &str,
        objects: &KeyedInformers<F, O>,
        whom: impl Fn(&F) -> W + Send + Sync + 'static,
    ) -> Self {
        self.builder = self.builder.when_complete(what, objects, whom);
        self
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
        self.builder = self.builder.owning(&L::plural(&()), locks.informer(), &self.kind);
        self.wakes.push(Box::new(move |controller, stopping| {
            async move { locks.wake(&controller, owners.informer(), stopping).await }.boxed()
        }));
        Ok(self)
    }

    /// May take as much, and as long.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.builder = self.builder.settings(settings);
        self
    }

    /// Makes its queue like this.
    pub fn queue(mut self, config: impl Fn() -> Config<ObjectKey> + Send + Sync + 'static) -> Self {
        self.builder = self.builder.queue(config);
        self
    }

    /// The controller, to look at it while it runs. Who waits for names is told only where the plane [runs](Self::run) it.
    ///
    /// # Errors
    /// A setting makes no sense, or another controller of the plane has the name.
    pub fn build(self) -> Result<Controller<ObjectKey, Arc<K>>, Error> {
        let controller = self.builder.build()?;
        let shown = self.plane.shown();
        shown.controller_metrics().watch(&controller)?;
        shown.controller(&self.kind, controller.diagnosed());
        Ok(controller)
    }

    /// The controller, and what is to run beside it.
    pub(super) fn split(mut self) -> Result<(Controller<ObjectKey, Arc<K>>, Beside), Error> {
        let (wakes, tasks) = (std::mem::take(&mut self.wakes), self.plane.controllers().0.clone());
        let stopping = self.plane.stopping().child_token();
        let controller = self.build()?;
        for wake in wakes {
            tasks.spawn(wake(controller.clone(), stopping.clone()));
        }
        Ok((controller, Beside { _ends: stopping.drop_guard(), _waited_for: tasks.token() }))
    }

    /// Reconciles until the plane is stopped. Dropping the future drops what is under way.
    ///
    /// # Errors
    /// A setting makes no sense, or what it listens to does not come, or has ended.
    pub async fn run(self, reconcile: impl Reconcile<Arc<K>>) -> Result<Ended<ObjectKey>, Error> {
        let stopping = self.plane.stopping().clone();
        let (controller, _beside) = self.split()?;
        Ok(controller.run(reconcile, stopping).await?)
    }
}

/// What runs beside a controller, as long as that does. Whoever stops the plane waits for both.
pub(super) struct Beside {
    _ends: DropGuard,
    _waited_for: TaskTrackerToken,
}

impl<K> fmt::Debug for PlaneController<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlaneController").field("builder", &self.builder).finish_non_exhaustive()
    }
}
