//! Clients that others wrote, unmodified, over a socket with TLS: what there is in the world is the
//! judge.
//!
//! kubectl and kube-rs have files of their own beside this directory. What the programs do is in
//! `tests/clients/`.

mod go;
mod needs;
mod plane;
mod python;
mod script;
mod tools;

pub(crate) use plane::Plane;
pub(crate) use tools::python;
