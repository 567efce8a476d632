//! A network in memory: nodes with switches that run the flows of [`crate::plan`], guests at their ports, and the wires between.
//!
//! Nodes may be in several processes: then frames go between them by UDP, in VXLAN's own form ([`Wire`]).
//!
//! No root and no kernel is needed, and what passes are frames: a flow that is wrong shows here as it would in a network.

mod explain;
mod fabric;
mod far;
mod guest;
mod node;
#[cfg(test)]
mod tests;
mod underlay;
mod vxlan;
mod wire;

pub use fabric::SimFabric;
pub use guest::{Guest, Heard};
pub use underlay::{Delivered, Lost, PingError, SimLimits, Underlay};
pub use wire::Wire;
