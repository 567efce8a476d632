//! The node agent: creates the interfaces of its node's attachments, and the flows to attachments
//! of the same networks on other nodes.

mod adoption;
mod attachment_programs;
mod interfaces;
mod networks;
mod probes;
mod programs;
mod reconcile;
mod repair;
mod setup;
mod writers;

pub use programs::ProgramSettings;
pub use setup::{Agent, AgentSettings, SWITCH_WORKERS};
pub use writers::AgentWriters;
