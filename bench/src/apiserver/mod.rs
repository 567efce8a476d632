//! The API server on a disk and TLS, beside the genuine Kubernetes API machinery on the same disk.
//!
//! [`rows`] lists the shapes and the rows they fill. A subject is a [`server`]: a process with a kubeconfig, `machinery serve`
//! or the peer of `bench/peers/apiserver`. [`measured`] does the same to either, through the same [`client`], and looks at the
//! process from outside.

mod access;
mod client;
mod lists;
mod measured;
mod objects;
mod rows;
mod server;
mod shape;
mod suite;
mod writes;

pub(crate) use suite::run;
