//! The work queue beside client-go's, controller-runtime's priority queue and kube-runtime's scheduler.
//!
//! [`rows`] lists the shapes and the rows they fill, [`shape`] what a shape is; [`ours`], [`kube_runtime`] and
//! [`go`] run them, the last in a Go process of its own (`bench/peers/go`).

mod go;
mod keys;
mod kube_runtime;
mod ours;
mod rows;
mod shape;
mod suite;

pub(crate) use suite::run;
