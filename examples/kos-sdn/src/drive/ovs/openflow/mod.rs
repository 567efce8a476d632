//! OpenFlow 1.5 as far as Open vSwitch and [`crate::plan`] need it: the flows of a bridge.
//!
//! [`FlowSwitch`] is the port; [`FakeSwitch`] implements it in memory.

mod error;
mod fake;
mod switch;

pub use error::OpenFlowError;
pub use fake::FakeSwitch;
pub use switch::{FlowChange, FlowSwitch, FoundFlow, OpaqueFlow, SwitchPort, SwitchStatus};
