//! The data path of a node: the trait [`Fabric`] of its switch, and implementations.
//!
//! [`sim`] is a network in memory with switches that run the flows of [`crate::plan`] over frames;
//! [`LogFabric`] only logs; [`ovs`] is a bridge of Open vSwitch.

mod actuated;
mod book;
mod fabric;
mod log;
pub mod ovs;
pub mod packet;
#[cfg(test)]
mod promises;
pub mod sim;
mod switch;
#[cfg(test)]
mod test_fabric;

pub use actuated::{FabricActuator, FabricPort, InterfaceBatch, InterfaceChange, InterfaceError};
pub use book::InterfaceBook;
pub use fabric::{
    BrokenInterface, Fabric, FabricError, FabricRepairs, FabricStatus, FramePath, InterfaceList,
};
pub use log::LogFabric;
pub use switch::{FlowTrace, IncomingFrame, OutgoingFrame, Switch, Tunnel};
