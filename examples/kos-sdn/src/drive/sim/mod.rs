//! A network in memory: nodes with switches that run the flows of [`crate::plan`], guests at their ports, and the wires between.
//!
//! No root and no kernel is needed, and what passes are frames: a flow that is wrong shows here as it would in a network.

mod explain;
mod fabric;
mod guest;
mod node;
#[cfg(test)]
mod tests;
mod underlay;

pub use fabric::SimFabric;
pub use guest::{Guest, Heard};
pub use underlay::{Delivered, Lost, PingError, SimLimits, Underlay};
