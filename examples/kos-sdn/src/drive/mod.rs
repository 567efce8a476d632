//! How it is done on a node: the port [`Fabric`], and fabrics.
//!
//! [`sim`] is a network in memory, whose switches run the flows of [`crate::plan`] over frames; [`LogFabric`] does nothing, and says so.

mod book;
mod fabric;
mod log;
pub mod packet;
#[cfg(test)]
mod promises;
pub mod sim;
mod switch;

pub use book::Book;
pub use fabric::{Audit, Fabric, FabricError, Listed, Way};
pub use log::LogFabric;
pub use switch::{Arrival, Departure, Followed, Switch, Tunnel};
