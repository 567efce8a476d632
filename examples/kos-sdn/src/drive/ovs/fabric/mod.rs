//! The fabric of Open vSwitch.
//!
//! An actor owns the connections to the switch. It takes the requests that wait, adds them to the
//! desired interfaces, and then repeats: observe the switch, compute the next stage of
//! [`crate::plan::ovs`], apply it; until nothing is left to do. Requests that arrive meanwhile
//! share the next transaction and the next bundle. A watcher compares changes by others with the
//! desired interfaces, and reports a disturbance.

mod actor;
mod apply;
mod backoff;
mod batch;
mod connections;
mod convergence;
mod datapath_cache;
mod errors;
mod examination;
pub mod fake;
mod gated;
mod handle;
mod lookup;
mod neighbours;
mod observer;
mod open;
mod request;
mod settings;
mod shared;
mod suspicion;
mod trace;

pub use connections::SwitchConnections;
pub use gated::gated;
pub use handle::OvsFabric;
pub use open::OvsSettings;
pub use settings::FabricLimits;

#[cfg(test)]
mod tests;
