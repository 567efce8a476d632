//! The agent of a node: makes interfaces for the attachments that are on it, and the ways to those in the same networks on other nodes.

mod begin;
mod look;
mod networks;
mod probes;
mod run;

pub use begin::{Agent, AgentSettings};
pub use probes::answer_probes;
