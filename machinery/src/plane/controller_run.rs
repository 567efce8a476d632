//! Building and running a controller of a plane.

use std::num::NonZeroUsize;

use machinery_controllers::{Controller, Reconcile, ReconcileBatch, Request, ShutdownReport};
use tokio_util::sync::DropGuard;

use super::controller::{ControlledKind, PlaneController};
use super::fights;
use super::tasks::TaskGuard;
use crate::Error;

impl<Q: Request, S: Send + Sync + 'static> PlaneController<Q, S> {
    /// Builds the controller without running it, for instance to inspect it. Tasks from
    /// [`beside`](Self::beside) and the notification of waiters run only with [`run`](Self::run).
    ///
    /// # Errors
    /// A setting is invalid, or another controller of the plane has the name, or has declared a
    /// [field](Self::writing) that this one writes.
    pub fn build(self) -> Result<Controller<Q, S>, Error> {
        let builder = self.builder.on_write_fight(fights::reporter(&self.plane));
        let controller = builder.build()?;
        let registry = self.plane.registry();
        self.plane.written_fields().declare(&controller.diagnostics(), &self.name, self.writes)?;
        // First, as it refuses a name in use before diagnostics show the controller.
        registry.controller_metrics().watch(&controller)?;
        let kind = self.kind.as_ref().and_then(ControlledKind::shown);
        registry.controller(kind.as_ref(), controller.diagnostics());
        Ok(controller)
    }

    /// Builds the controller and starts its background tasks.
    pub(super) fn split(mut self) -> Result<(Controller<Q, S>, BackgroundTasks), Error> {
        let (background, running) = (std::mem::take(&mut self.background), self.plane.controllers().clone());
        let name = format!("the controller {}", self.name);
        // A child: the end of this controller stops its background tasks, and not the plane.
        let stopping = self.plane.stopping().child_token();
        let controller = self.build()?;
        for task in background {
            running.spawn(&name, task(controller.clone(), stopping.clone()));
        }
        Ok((controller, BackgroundTasks { _ends: stopping.drop_guard(), _runs: running.register(&name) }))
    }

    /// Like [`run`](Self::run), with up to `max` ready keys in one call of the reconciler.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_batches(
        self,
        max: NonZeroUsize,
        reconcile: impl ReconcileBatch<S>,
    ) -> Result<ShutdownReport<Q>, Error> {
        let stopping = self.plane.stopping().clone();
        let (controller, _beside) = self.split()?;
        Ok(controller.run_batches(max, reconcile, stopping).await?)
    }

    /// Reconciles until the plane is stopped. Dropping the future drops active runs.
    ///
    /// # Errors
    /// A setting is invalid, or a source did not sync or has stopped.
    pub async fn run(self, reconcile: impl Reconcile<S>) -> Result<ShutdownReport<Q>, Error> {
        let stopping = self.plane.stopping().clone();
        let (controller, _beside) = self.split()?;
        Ok(controller.run(reconcile, stopping).await?)
    }
}

/// Background tasks of a controller, cancelled on drop. The shutdown of the plane waits for them.
pub(super) struct BackgroundTasks {
    _ends: DropGuard,
    _runs: TaskGuard,
}
