//! Pure state machine of a leader election: requests, terms and deadlines.
//!
//! It has no clock, lock or socket. Timestamps of other processes are never compared: a record
//! expires relative to its first observation on the local monotonic clock.

mod actions;
mod jitter;
mod messages;
mod responses;
mod step;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

pub(super) use messages::{Action, ElectionProblem, ElectionTime, Input, LeadershipChange};
pub(super) use step::{Election, Role};
