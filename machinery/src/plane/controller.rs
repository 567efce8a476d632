//! A controller of a plane.

use std::fmt;
use std::sync::Arc;

use machinery_controllers::{Builder, Controller, Ended, Reconcile, Settings};
use machinery_objects::{Event, Kind, ObjectKey};
use machinery_workqueue::Config;

use super::error::PlaneError;
use super::kinds::ObjectType;
use super::road::Plane;
use crate::Error;

/// Makes a controller of a plane: which types it listens to is all it is told. It runs until the plane is stopped.
#[must_use = "it does nothing before it runs"]
pub struct PlaneController<K> {
    plane: Plane,
    kind: Kind,
    builder: Builder<ObjectKey, Arc<K>>,
}

impl<K: ObjectType> PlaneController<K> {
    pub(super) fn new(plane: &Plane, name: &str) -> Result<Self, PlaneError> {
        let objects = plane.objects::<K>()?;
        let builder = Controller::of(name, objects.informer());
        Ok(Self { plane: plane.clone(), kind: objects.kind().clone(), builder })
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

    /// The controller, to look at it while it runs, or to run it under a lease.
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

    /// Reconciles until the plane is stopped. Dropping the future drops what is under way.
    ///
    /// # Errors
    /// A setting makes no sense, or what it listens to does not come, or has ended.
    pub async fn run(self, reconcile: impl Reconcile<Arc<K>>) -> Result<Ended<ObjectKey>, Error> {
        let plane = self.plane.clone();
        let (tasks, stopping) = plane.controllers();
        let controller = self.build()?;
        // Whoever stops the plane waits for it.
        let token = tasks.token();
        let ended = controller.run(reconcile, stopping.clone()).await;
        drop(token);
        Ok(ended?)
    }
}

impl<K> fmt::Debug for PlaneController<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlaneController").field("builder", &self.builder).finish_non_exhaustive()
    }
}
