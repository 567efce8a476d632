//! KOS at its full size: a server with the controllers in one process, the agents of a thousand nodes in another, each with a connection
//! and a cache of its own, and attachments that are made over TLS by this one.
//!
//! [`rows`] lists the shapes and the rows they fill. A shape is one or more lives ([`life`]), each in processes of its own: [`control`] and
//! [`agents`], which are told what to do in [`step`]s. [`known`] is what is made of the times at which nodes knew of attachments.

mod agents;
mod control;
mod known;
mod life;
mod measured;
mod plan;
mod rows;
mod shape;
mod step;

pub(crate) use agents::serve as serve_agents;
pub(crate) use control::serve as serve_control;
pub(crate) use measured::run;
