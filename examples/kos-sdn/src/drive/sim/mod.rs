//! A network in memory: nodes with switches that run the flows of [`crate::plan`], guests at their
//! ports, and the underlay between them.
//!
//! Nodes may be in several processes: then frames travel over UDP, encapsulated in VXLAN
//! ([`Wire`]).
//!
//! It needs neither root nor kernel support, and carries real frames: a wrong flow shows here as it
//! would in a network.

mod echo_buffer;
mod explain;
mod fabric;
mod guest;
mod node;
#[cfg(test)]
mod tests;
mod underlay;
pub(super) mod vxlan;
mod wire;

pub use fabric::SimFabric;
pub use guest::{Guest, GuestResponse};
pub use underlay::{DeliveredFrame, PingError, SendError, SimLimits, Underlay};
pub use wire::Wire;
