//! Limits on concurrency and buffered bytes.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use super::Limits;
use crate::refusal::Refusal;

/// Semaphores for requests, lists, watches and bodies. An exhausted one is an error at once.
#[derive(Debug)]
pub(crate) struct Capacity {
    requests: Semaphore,
    lists: Arc<Semaphore>,
    watches: Arc<Semaphore>,
    /// Bytes of buffered request bodies, one permit each.
    bodies: Semaphore,
}

impl Capacity {
    pub(super) fn new(limits: &Limits) -> Self {
        let semaphore = |permits: usize| Semaphore::new(permits.min(Semaphore::MAX_PERMITS));
        Self {
            requests: semaphore(limits.in_flight),
            lists: Arc::new(semaphore(limits.long_lists)),
            watches: Arc::new(semaphore(limits.watches)),
            bodies: semaphore(usize::try_from(limits.bodies_bytes).unwrap_or(usize::MAX)),
        }
    }

    /// Takes a permit for a request in flight.
    pub(super) fn request(&self) -> Result<SemaphorePermit<'_>, Refusal> {
        let message = "the server works on as many requests as it may: ask again";
        self.requests.try_acquire().map_err(|_| too_many(message))
    }

    /// Takes a permit for a streamed list, held with its objects until the response is sent.
    pub(super) fn list(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let message = "the server sends as many long lists as it may: ask again, or for pages by `limit`";
        self.lists.clone().try_acquire_owned().map_err(|_| too_many(message))
    }

    /// Takes a permit for a watch, held until its response ends.
    pub(super) fn watch(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let message = "the server has as many watches as it may: ask again";
        self.watches.clone().try_acquire_owned().map_err(|_| too_many(message))
    }

    /// Takes permits for bytes of a body.
    pub(super) fn bytes(&self, length: usize) -> Result<SemaphorePermit<'_>, Refusal> {
        let message = "the server holds as many bytes of requests as it may: ask again";
        let permits = u32::try_from(length).map_err(|_| too_many(message))?;
        self.bodies.try_acquire_many(permits).map_err(|_| too_many(message))
    }
}

/// 429: clients wait and retry.
fn too_many(message: &str) -> Refusal {
    Refusal { retry_after: Some(1), ..Refusal::new(429, "TooManyRequests", message) }
}
