//! The agent: one subject per CNF, planned from informers, pushed to every pod.
//!
//! `sources` caches the objects of the API; `facts` are those of one CNF; `run` performs one
//! run, with its `pushes` and `cr_writes`; `pod` brings one pod to the desired state, over v2
//! (`push_v2`, with its `refusals`) or v1 (`push_v1`); `writes` are single writes, under the fence
//! of the term.

mod connections;
mod cr_writes;
mod facts;
mod memory;
mod outcome;
mod pod;
mod push_v1;
mod push_v2;
mod pushes;
mod record;
mod refusals;
mod run;
mod settings;
mod shell;
mod sources;
mod writes;

pub use settings::AgentSettings;
pub use shell::Agent;
