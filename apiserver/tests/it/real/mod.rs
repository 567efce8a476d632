//! Unmodified third-party clients, over a socket with TLS.
//!
//! kubectl and kube-rs have files of their own beside this directory. The programs are in
//! `tests/clients/`.

mod go;
mod needs;
mod plane;
mod python;
mod refused;
mod script;
mod tools;

pub(crate) use plane::Plane;
pub(crate) use tools::python;
