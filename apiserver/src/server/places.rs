//! Places for what may be there at the same time.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use super::Limits;
use crate::refusal::Refusal;

/// What there is to give to requests. Who finds nothing left is told to ask again, and waits for nobody.
#[derive(Debug)]
pub(crate) struct Places {
    requests: Semaphore,
    lists: Arc<Semaphore>,
    watches: Arc<Semaphore>,
    /// A permit a byte.
    bodies: Semaphore,
}

impl Places {
    pub(super) fn new(limits: &Limits) -> Self {
        let semaphore = |permits: usize| Semaphore::new(permits.min(Semaphore::MAX_PERMITS));
        Self {
            requests: semaphore(limits.in_flight),
            lists: Arc::new(semaphore(limits.long_lists)),
            watches: Arc::new(semaphore(limits.watches)),
            bodies: semaphore(usize::try_from(limits.bodies_bytes).unwrap_or(usize::MAX)),
        }
    }

    /// A place for a request that is worked on.
    pub(super) fn request(&self) -> Result<SemaphorePermit<'_>, Refusal> {
        let message = "the server works on as many requests as it may: ask again";
        self.requests.try_acquire().map_err(|_| too_many(message))
    }

    /// A place for a list that is made as it is sent: until that is done. What is in it is held until then.
    pub(super) fn list(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let message = "the server sends as many long lists as it may: ask again, or for pages by `limit`";
        self.lists.clone().try_acquire_owned().map_err(|_| too_many(message))
    }

    /// A place for a watch: until its answer ends.
    pub(super) fn watch(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let message = "the server has as many watches as it may: ask again";
        self.watches.clone().try_acquire_owned().map_err(|_| too_many(message))
    }

    /// A place for so many bytes of a body.
    pub(super) fn bytes(&self, length: usize) -> Result<SemaphorePermit<'_>, Refusal> {
        let message = "the server holds as many bytes of requests as it may: ask again";
        let permits = u32::try_from(length).map_err(|_| too_many(message))?;
        self.bodies.try_acquire_many(permits).map_err(|_| too_many(message))
    }
}

/// 429: clients wait and ask again.
fn too_many(message: &str) -> Refusal {
    Refusal { retry_after: Some(1), ..Refusal::new(429, "TooManyRequests", message) }
}
