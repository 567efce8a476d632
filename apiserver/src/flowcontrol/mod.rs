//! Flow control: fair shares of the server for each user, on the model of Kubernetes' API Priority
//! and Fairness.
//!
//! * [`level`]: priority levels, and the classification of requests
//! * [`pool`]: the fair shares of a pool, such as body bytes or watches
//! * [`seats`]: decides which requests are executed (pure)
//! * [`control`]: queues and seats of running requests
//! * [`headers`]: the response headers of Kubernetes
//! * [`seat`]: the seat of one request, which it leaves while it waits
//!
//! Design: `docs/designs/027-fair-shares.md`.

mod control;
mod headers;
mod level;
mod pool;
mod seat;
mod seats;
#[cfg(test)]
mod tests;

pub(crate) use control::{FlowControl, FlowLimits, Rejection};
pub(crate) use headers::with_level_headers;
pub(crate) use level::{Flow, PriorityLevel};
pub(crate) use pool::{FairPool, PoolShare};
#[cfg(feature = "server")]
pub(crate) use seat::current_flow;
pub(crate) use seat::without_seat;
pub(crate) use seats::LevelCounts;
