//! Limits on concurrency and buffered bytes, shared fairly by all users.

use std::sync::Arc;

use foldhash::fast::FixedState;

use super::Limits;
use crate::auth::Identity;
use crate::flowcontrol::{FairPool, Flow, FlowControl, FlowLimits, PoolShare, Rejection};
use crate::metrics::FlowCounters;
use crate::refusal::Refusal;
use crate::request::{Resource, Verb};

/// Seats of requests, and pools of lists, watches and bodies. An exhausted pool is an error at
/// once; for a seat a request waits in a queue.
pub(crate) struct Capacity {
    pub(super) requests: Arc<FlowControl>,
    lists: Arc<FairPool>,
    watches: Arc<FairPool>,
    /// Bytes of buffered request bodies.
    bodies: FairPool,
    seed: FixedState,
}

impl Capacity {
    pub(super) fn new(limits: &Limits, counters: FlowCounters, seed: u64) -> Self {
        let seed = FixedState::with_seed(seed);
        let flows =
            FlowLimits { seats: limits.in_flight, places: limits.admitted, queue_time: limits.queue_time };
        let pool = |size: usize| FairPool::new(size, seed.clone());
        Self {
            requests: Arc::new(FlowControl::new(&flows, counters, seed.clone())),
            lists: Arc::new(pool(limits.long_lists)),
            watches: Arc::new(pool(limits.watches)),
            bodies: pool(usize::try_from(limits.bodies_bytes).unwrap_or(usize::MAX)),
            seed,
        }
    }

    /// Returns the flow of a request: its user, on a priority level.
    pub(super) fn flow(&self, identity: &Identity, verb: Verb, resource: &Resource) -> Flow {
        Flow::of(&self.seed, identity, verb, resource)
    }

    /// Exports the counts of flow control to its metrics.
    pub(crate) fn export(&self) {
        self.requests.export();
    }

    /// Takes a place for a streamed list, held with its objects until the response is sent.
    pub(super) fn list(&self, flow: Flow) -> Result<PoolShare<Arc<FairPool>>, Refusal> {
        let message = "the server sends as many long lists as it may: ask again, or for pages by `limit`";
        FairPool::take(self.lists.clone(), flow, 1).ok_or_else(|| too_many(message))
    }

    /// Takes a place for a watch, held until its response ends.
    pub(super) fn watch(&self, flow: Flow) -> Result<PoolShare<Arc<FairPool>>, Refusal> {
        let message = "the server has as many watches as it may: ask again";
        FairPool::take(self.watches.clone(), flow, 1).ok_or_else(|| too_many(message))
    }

    /// Takes a share for bytes of a body.
    pub(super) fn bytes(&self, flow: Flow, length: usize) -> Result<PoolShare<&FairPool>, Refusal> {
        FairPool::take(&self.bodies, flow, length).ok_or_else(too_many_bytes)
    }

    /// Enlarges a share by the length of another part of the body.
    pub(super) fn more_bytes(&self, share: &mut PoolShare<&FairPool>, length: usize) -> Result<(), Refusal> {
        if share.grow(length) { Ok(()) } else { Err(too_many_bytes()) }
    }
}

/// 429 of flow control. Clients wait and retry.
pub(super) fn rejected(why: Rejection) -> Refusal {
    too_many(match why {
        Rejection::QueueFull => {
            "this user has as many requests in the server as it may: wait for their answers, and ask again"
        }
        Rejection::ConcurrencyLimit => "the server works on no requests: raise the limit `in_flight`",
        Rejection::TimeOut => {
            "the server works on as many requests as it may, and this one found no place in time: ask again"
        }
    })
}

fn too_many_bytes() -> Refusal {
    too_many("the server holds as many bytes of requests as it may: ask again")
}

/// 429: clients wait and retry.
fn too_many(message: &str) -> Refusal {
    Refusal { retry_after: Some(1), ..Refusal::new(429, "TooManyRequests", message) }
}
