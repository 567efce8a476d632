//! The plan for a bridge of Open vSwitch: from desired interfaces and the observed switch to the
//! next stage of changes.
//!
//! - Marks: the `external_ids` from which a restarted agent rebuilds the interfaces.
//! - Observed state: rows, OpenFlow ports, flows and links, indexed.
//! - Ports, links, flows: the differences of each part.
//! - [`next_stage`]: the order of changes.
//! - [`rebuilt_interfaces`]: the interfaces that a switch has, rebuilt from marks and flows.

mod adoption;
mod flows;
mod links;
mod marks;
mod observed;
mod ports;
mod row_change;
mod row_checks;
mod scope;
mod settings;
mod stage;
mod transaction;

pub use adoption::rebuilt_interfaces;
pub use flows::FlowGroup;
pub use links::{LinkWork, place_of};
pub use marks::{PortMark, bridge_marks, interface_marks, read_mark, tunnel_marks};
pub use observed::{FlowIndex, LinkIndex, ObservedSwitch};
pub use row_change::RowChange;
pub use scope::{Attempts, Scope};
pub use settings::{Datapath, SwitchSettings};
pub use stage::{Stage, SwitchPlan, next_stage};
pub use transaction::transaction;

#[cfg(test)]
mod tests;
