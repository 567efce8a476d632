//! The agent of a node: makes interfaces for the attachments that are on it, and the ways to those in the same networks on other nodes.

mod begin;
mod beside;
mod look;
mod networks;
mod probes;
mod programs;
mod run;
mod turns;

pub use begin::{Agent, AgentSettings};
pub use probes::answer_probes;
pub use programs::ProgramSettings;
