//! The work queue beside those of client-go, controller-runtime and kube-runtime.
//!
//! [`rows`] lists the shapes and the rows they fill, [`shape`] defines the shapes; [`ours`],
//! [`kube_runtime`] and [`go`] run them, the last in a Go process (`bench/peers/go`).

mod go;
mod keys;
mod kube_runtime;
mod ours;
mod rows;
mod shape;
mod suite;

pub(crate) use suite::run;
