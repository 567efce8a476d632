//! The server of a CNF: LuCI's login, the REST API of the original, and v2.
//!
//! - [`CnfServer`] answers requests; [`CnfListener`] is its socket.
//! - [`config`] is the configuration with its checks; [`CnfState`] is committed in one way only:
//!   kept, applied to the data path, then shown.
//! - [`CnfAuthority`] issues the certificates of pods.

mod certificate;
mod commit;
pub mod config;
mod connectivity;
mod facts;
mod legacy;
mod limits;
mod listener;
mod log;
mod login;
mod merge;
mod password;
mod present;
mod request;
mod route;
mod server;
mod service;
mod session;
mod state;
mod status;
mod store;
mod tls;
mod v1;
mod v2;

pub use certificate::{CnfAuthority, CnfCertificate, pod_dns_name};
pub use connectivity::Connectivity;
pub use facts::{DeviceFacts, NicFact};
pub use limits::CnfLimits;
pub use listener::CnfListener;
pub use log::{CnfCounts, CnfLog, CnfLogEntry};
pub use password::{CNF_USER, PasswordSource};
pub use request::{CnfAnswer, CnfRequest};
pub use route::{BASE_PATH, CONFIG_PATH, CnfRoute};
pub use server::{CnfServer, CnfSettings};
pub use session::SESSION_COOKIE;
pub use state::{CnfState, LegacyService};
pub use status::STATUS_MODULES;
pub use store::StoreError;
pub use tls::{CnfTls, CnfTlsError};
pub use v2::{ConfigRefusals, RefusedObject, SECRET_KEY_HEADER};

#[cfg(test)]
mod tests;
