//! The fabric of Open vSwitch.
//!
//! Each call, of a batch of changes or of a repair, repeats: observe the switch, compute the next
//! stage of [`crate::plan::ovs`], apply it; until nothing is left to do. A batch shares its
//! transactions and its bundles. Watches of the connections report a disturbance; the actuator
//! above decides when to repair and when to retry.

mod apply;
mod connections;
mod convergence;
mod datapath_cache;
mod errors;
pub mod fake;
mod gated;
mod handle;
mod lookup;
mod neighbours;
mod observer;
mod open;
mod settings;
mod state;
mod suspicion;
mod trace;

pub use connections::SwitchConnections;
pub use gated::gated;
pub use handle::OvsFabric;
pub use open::OvsSettings;
pub use settings::FabricLimits;

#[cfg(test)]
mod tests;
