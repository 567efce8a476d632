//! KOS at its full size: a server with the controllers in one process, the agents of a thousand
//! nodes in another, each with its own connection and cache, and attachments created by this
//! process over TLS.
//!
//! [`rows`] lists the shapes and the rows they fill. A shape is one or more runs ([`life`]), each
//! with the processes [`control`] and [`agents`], driven by the requests of [`step`]. [`known`]
//! evaluates the times at which nodes learned of attachments. [`ovs`] is another suite, on real
//! Open vSwitch.

mod agents;
mod control;
mod known;
mod life;
mod measured;
mod ovs;
mod plan;
mod rows;
mod shape;
mod step;

pub(crate) use agents::serve as serve_agents;
pub(crate) use control::serve as serve_control;
pub(crate) use measured::run;
pub(crate) use ovs::{GUARD as LAB_GUARD, run as run_ovs, serve_guard as guard_lab};
