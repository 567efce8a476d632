//! Leader election by a Lease, compatible with client-go.

mod config;
mod election;
mod elector;
mod object;
mod record;
mod run;
mod state;
mod status;
mod term;

pub use config::{ElectionConfig, ElectionConfigError};
pub use elector::{Elector, LeadError, NotRenewed};
pub use object::Lease;
pub use state::{ElectionCounts, ElectionPhase, ElectionState};
pub use term::Term;
