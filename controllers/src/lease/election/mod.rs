//! The decisions of an election: what is to be asked, who leads, and until when.
//!
//! Nothing here has a clock, a lock or a socket. Times of others are never compared: of a record one knows when one saw it first, by
//! one's own clock, and from then on its holder has as long as it says.

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
