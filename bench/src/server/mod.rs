//! Servers of the Kubernetes API: `machinery serve`, and the genuine API machinery of
//! `bench/peers/apiserver`.
//!
//! A [`ServerProcess`] is a process with a kubeconfig, used and measured from outside. A
//! [`Client`] has a connection to it; [`objects`] generates the objects written.

mod access;
mod client;
pub(crate) mod objects;
mod program;
mod subjects;
mod suite;

pub(crate) use access::{Access, Http};
pub(crate) use client::Client;
pub(crate) use program::{ServerProcess, remove, settled};
pub(crate) use subjects::{PEER, ours};
pub(crate) use suite::{Measure, ServerSite, run};

use subjects::subjects;
