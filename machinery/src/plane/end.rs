//! How a plane ends.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::error::PlaneError;
use super::handle::{Inner, Plane};
use super::signals::Signals;
use crate::Error;

/// How long each step of the end may take, unless it is said otherwise: longer than a controller drains.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// How a plane ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stopped {
    /// What had not ended when its time was over, by name. It may be running still, without a server.
    pub left: Vec<String>,
}

/// What clones of a plane share. What runs on it has the rest, and not this: so it ends with the last of them.
pub(super) struct Handle(pub(super) Arc<Inner>);

impl Plane {
    /// Ends controllers, then what they listen to, then the server of one's own and its store, and waits for each: for a minute, or as it was said
    /// at the [beginning](super::Begin::stops_within). What has not ended by then is named, and also logged.
    pub async fn stop(&self) -> Stopped {
        self.stop_within(self.0.patience).await
    }

    /// The same, waiting for each of the three for so long.
    pub async fn stop_within(&self, patience: Duration) -> Stopped {
        self.0.end(patience).await
    }

    /// Waits for SIGTERM, an interrupt, or the end of the plane, and [stops](Self::stop) it. A second signal ends the program at once.
    ///
    /// # Errors
    /// What was [spawned](Self::spawn) ended with this, or not all that runs ended in time, or the system does not tell of signals.
    pub async fn until_signal(&self) -> Result<(), Error> {
        let mut signals = Signals::new()?;
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
            None => Err(PlaneError::NotEnded { what: stopped.left, after: self.0.patience }.into()),
        }
    }
}

impl Inner {
    async fn end(&self, patience: Duration) -> Stopped {
        let mut left = self.controllers.end(patience).await;
        left.extend(self.informers.end(patience).await);
        if timeout(patience, self.road.end()).await.is_err() {
            left.push("the server in this process".into());
        }
        if !left.is_empty() {
            tracing::warn!(?left, ?patience, "the plane has stopped, and not all that ran on it has ended");
        }
        Stopped { left }
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
                TaskTracker::new().spawn_on(async move { inner.end(inner.patience).await }, &runtime);
            }
            _ => {
                inner.controllers.stopping().cancel();
                inner.informers.stopping().cancel();
            }
        }
    }
}
