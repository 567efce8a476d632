//! The port to the REST API of CNFs, over TLS and in memory; and the data path of a CNF.

mod apply;
mod error;
pub mod fake;
mod port;
pub mod rest;

pub use apply::{Apply, ApplyError, ApplyScope, MemoryDataPath};
pub use error::{CnfError, CnfErrorClass};
pub use port::{
    Cnf, CnfConnector, CnfCredentials, CnfInterface, ConfigTag, ConfigWrite, PodTarget, Refusal, TaggedConfig,
};
