//! Encryption at rest, configured as in Kubernetes.
//!
//! * [`resource`]: selects resources
//! * [`config`]: the keys of each resource; [`read`] parses the file
//! * [`begin`]: reseals stored values with the first key before the server starts

mod begin;
mod config;
mod read;
mod resource;

pub use config::Encryption;
pub use read::EncryptionError;

pub(crate) use begin::begin;
