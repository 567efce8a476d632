//! OpenFlow 1.5 as far as Open vSwitch and [`crate::plan`] need it: the flows of a bridge.
//!
//! [`FlowSwitch`] is the port. [`OpenFlowClient`] implements it over the bridge's management
//! socket, and [`FakeSwitch`] in memory. The codec is pure: [`Flow`](crate::plan::Flow) to bytes
//! and back.

mod client;
mod error;
mod error_codes;
mod fake;
mod fake_state;
mod flow_desc;
mod flow_mod;
mod fuzz;
mod instructions;
mod message;
mod oxm;
mod requests;
mod session;
mod session_errors;
mod settings;
mod switch;
#[cfg(test)]
pub(crate) mod tests;
mod wire;

pub use client::OpenFlowClient;
pub use error::OpenFlowError;
pub use fake::FakeSwitch;
pub use fuzz::{fuzz_bytes, fuzz_messages};
pub use settings::OpenFlowSettings;
pub use switch::{FlowChange, FlowSwitch, FoundFlow, OpaqueFlow, SwitchPort, SwitchStatus};
