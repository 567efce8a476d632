//! The port to the REST API of CNFs, and a CNF in memory.

mod error;
pub mod fake;
mod port;

pub use error::{CnfError, CnfErrorClass};
pub use port::{
    Cnf, CnfConnector, CnfCredentials, CnfInterface, ConfigTag, ConfigWrite, PodTarget, Refusal, TaggedConfig,
};
