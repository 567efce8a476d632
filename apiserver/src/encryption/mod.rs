//! Encryption at rest, as Kubernetes configures it.
//!
//! * [`resource`]: which objects are meant
//! * [`config`]: by which keys those are sealed; [`read`] is its file
//! * [`begin`]: everything is opened, and sealed by the first key, before anything is served

mod begin;
mod config;
mod read;
mod resource;

pub use config::Encryption;
pub use read::EncryptionError;

pub(crate) use begin::begin;
