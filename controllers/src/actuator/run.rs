//! The running actuator.

use std::future::pending;
use std::sync::Arc;

use machinery_workqueue::limiter::Exponential;
use machinery_workqueue::{Config, Queue};
use tokio_util::sync::CancellationToken;

use super::call::contained;
use super::shared::{CallError, Shared};
use super::{Actuator, ActuatorPort};

impl<P: ActuatorPort + ?Sized> Actuator<P> {
    /// Runs until cancelled. All work is in this future: dropping it drops the calls of the port in
    /// flight and the port's [own tasks](ActuatorPort::run). It may run again, and then lists the
    /// existing items again. Must be polled within a tokio runtime.
    ///
    /// # Errors
    /// The actuator runs already.
    pub async fn run(&self, stopping: CancellationToken) -> Result<(), CallError<P>> {
        let shared = &self.0;
        let (first, longest) = shared.settings.backoff;
        let first = first.max(std::time::Duration::from_millis(1));
        let backoff = Exponential::new(first, longest.max(first)).unwrap_or(Exponential::DEFAULT);
        // Twice the items: as many may be leaving.
        let capacity = shared.settings.items.clamp(1, 1 << 30) * 2;
        let config = Config { capacity, backoff: Box::new(backoff), ..Config::default() };
        let queue = Queue::new(config).map_err(|_| shared.stopped())?;
        let _run = RunGuard::start(shared, &queue).ok_or_else(|| shared.stopped())?;
        let own_tasks = async {
            if let Err(text) = contained(|| shared.port.run()).await {
                tracing::error!(actuator = %shared.name, %text, "the port's own tasks panicked");
            }
            pending::<()>().await;
        };
        let work = async {
            shared.load().await;
            futures::future::join(shared.dispatch(&queue), shared.repair_when_due()).await;
        };
        tokio::select! {
            biased;
            () = stopping.cancelled() => {}
            () = own_tasks => {}
            () = shared.watch() => {}
            () = work => {}
        }
        Ok(())
    }
}

/// Ends the run in the shared state, also when its future is dropped.
struct RunGuard<'a, P: ActuatorPort + ?Sized>(&'a Arc<Shared<P>>);

impl<'a, P: ActuatorPort + ?Sized> RunGuard<'a, P> {
    fn start(shared: &'a Arc<Shared<P>>, queue: &Queue<P::Key>) -> Option<Self> {
        let mut state = shared.state.lock();
        if state.queue.is_some() {
            return None;
        }
        (state.queue, state.is_loaded, state.has_stopped) = (Some(queue.clone()), false, false);
        Some(Self(shared))
    }
}

impl<P: ActuatorPort + ?Sized> Drop for RunGuard<'_, P> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        (state.is_loaded, state.has_stopped) = (false, true);
        let queue = state.queue.take();
        // Their receivers get the end of the actuator.
        let waiting = (
            std::mem::take(&mut state.waiting),
            std::mem::take(&mut state.attempted),
            std::mem::take(&mut state.repair_waiters),
        );
        drop(state);
        drop(waiting);
        if let Some(queue) = queue {
            queue.close();
        }
        self.0.changed();
    }
}
