//! The node agent: creates the interfaces of its node's attachments, and the flows to attachments
//! of the same networks on other nodes.

mod setup;
mod attachment_programs;
mod adoption;
mod networks;
mod probes;
mod programs;
mod reconcile;
mod address_locks;

pub use setup::{Agent, AgentSettings};
pub use probes::answer_probes;
pub use programs::ProgramSettings;
