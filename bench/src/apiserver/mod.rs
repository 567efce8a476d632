//! The API server on a disk and TLS, beside the genuine Kubernetes API machinery on the same disk.
//!
//! [`rows`] lists the shapes and the rows they fill. A subject is a [`server`](crate::server). [`measured`] does the same to
//! either, through the same clients, and looks at the process from outside.

mod idle;
mod lists;
mod measured;
mod rows;
mod shape;
mod suite;
mod writes;

pub(crate) use suite::run;
