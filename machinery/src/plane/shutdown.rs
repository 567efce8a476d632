//! How a plane ends.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use tokio::time;
use tokio_util::task::TaskTracker;

use super::error::PlaneError;
use super::handle::{Inner, Plane};
use super::signals::ShutdownSignals;
use crate::Error;

/// How long each step of the end may take, unless it is said otherwise: longer than a controller drains.
pub(super) const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(60);

/// How a plane ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlaneShutdownReport {
    /// What had not ended when its time was over, by name. It may be running still, without a server.
    pub left: Vec<String>,
}

/// What clones of a plane share. What runs on it has the rest, and not this: so it ends with the last of them.
pub(super) struct Handle(pub(super) Arc<Inner>);

impl Plane {
    /// Ends controllers, then what they listen to, then the server of one's own and its store, and waits for each: for a minute, or as it was said
    /// at the [beginning](super::PlaneBuilder::shutdown_timeout). What has not ended by then is named, and also logged.
    pub async fn stop(&self) -> PlaneShutdownReport {
        self.stop_within(self.0.timeout).await
    }

    /// The same, waiting for each of the three for so long.
    pub async fn stop_within(&self, timeout: Duration) -> PlaneShutdownReport {
        self.0.shutdown(timeout).await
    }

    /// Waits for SIGTERM, an interrupt, or the end of the plane, and [stops](Self::stop) it. A second signal ends the program at once.
    ///
    /// # Errors
    /// What was [spawned](Self::spawn) ended with this, or not all that runs ended in time, or the system does not tell of signals.
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
            None if stopped.left.is_empty() => Ok(()),
            None => Err(PlaneError::NotEnded { what: stopped.left, after: self.0.timeout }.into()),
        }
    }
}

impl Inner {
    async fn shutdown(&self, timeout: Duration) -> PlaneShutdownReport {
        let mut left = self.controllers.shutdown(timeout).await;
        left.extend(self.informers.shutdown(timeout).await);
        if time::timeout(timeout, self.transport.shutdown()).await.is_err() {
            left.push("the server in this process".into());
        }
        if !left.is_empty() {
            tracing::warn!(?left, ?timeout, "the plane has stopped, and not all that ran on it has ended");
        }
        PlaneShutdownReport { left }
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

/// Nobody can stop it any more: it ends as if somebody had, on a task that has the same deadline.
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
