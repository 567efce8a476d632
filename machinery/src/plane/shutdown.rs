//! Shutdown of a plane: controllers, then informers, then the server.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use tokio::time;
use tokio_util::task::TaskTracker;

use super::error::PlaneError;
use super::handle::{Inner, Plane};
use super::signals::ShutdownSignals;
use crate::Error;

/// Default timeout of each step, longer than a controller drains.
pub(super) const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(60);

/// Result of a shutdown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlaneShutdownReport {
    /// Names of tasks that had not ended at the timeout. They may still be running, without a
    /// server.
    pub unfinished: Vec<String>,
}

/// Shared by the clones of a plane, but not by its tasks: the last clone's drop shuts the plane
/// down.
pub(super) struct Handle(pub(super) Arc<Inner>);

impl Plane {
    /// Stops controllers, then informers, then the embedded server and its store. Waits for each
    /// step up to [`shutdown_timeout`](super::PlaneBuilder::shutdown_timeout), one minute by
    /// default. Tasks that have not ended by then are returned and logged.
    pub async fn stop(&self) -> PlaneShutdownReport {
        self.stop_within(self.0.timeout).await
    }

    /// Like [`stop`](Self::stop), with this timeout for each step.
    pub async fn stop_within(&self, timeout: Duration) -> PlaneShutdownReport {
        self.0.shutdown(timeout).await
    }

    /// Waits for SIGTERM, SIGINT or the end of the plane, then [stops](Self::stop) it. A second
    /// signal exits the process at once.
    ///
    /// # Errors
    /// The error of a [spawned](Self::spawn) task, a shutdown timeout, or signals that cannot be
    /// handled.
    pub async fn shutdown_on_signal(&self) -> Result<(), Error> {
        let mut signals = ShutdownSignals::new()?;
        tokio::select! {
            biased;
            () = self.stopping().cancelled() => {}
            () = signals.next() => {}
        }
        let stopped = tokio::select! {
            biased;
            stopped = self.stop() => stopped,
            () = signals.next() => std::process::exit(1),
        };
        match self.0.failed.lock().take() {
            Some(error) => Err(error),
            None if stopped.unfinished.is_empty() => Ok(()),
            None => Err(PlaneError::NotEnded { what: stopped.unfinished, after: self.0.timeout }.into()),
        }
    }
}

impl Inner {
    async fn shutdown(&self, timeout: Duration) -> PlaneShutdownReport {
        // Controllers first: their last runs still read the caches and write to the server.
        let mut unfinished = self.controllers.shutdown(timeout).await;
        unfinished.extend(self.informers.shutdown(timeout).await);
        if time::timeout(timeout, self.transport.shutdown()).await.is_err() {
            unfinished.push("the server in this process".into());
        }
        if !unfinished.is_empty() {
            tracing::warn!(?unfinished, ?timeout, "the plane has stopped, and some tasks have not ended");
        }
        PlaneShutdownReport { unfinished }
    }
}

impl Handle {
    pub(super) fn inner(&self) -> Arc<Inner> {
        self.0.clone()
    }
}

impl Deref for Handle {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

/// Shuts down in a task, with the same timeouts, as no handle is left to do so.
impl Drop for Handle {
    fn drop(&mut self) {
        let inner = self.inner();
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) if !inner.informers.stopping().is_cancelled() => {
                TaskTracker::new().spawn_on(async move { inner.shutdown(inner.timeout).await }, &runtime);
            }
            _ => {
                inner.controllers.stopping().cancel();
                inner.informers.stopping().cancel();
            }
        }
    }
}
