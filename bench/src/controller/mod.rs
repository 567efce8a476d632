//! The whole loop of a controller beside kube-runtime's `Controller`: on a source in the process, and over the wire from one server.
//!
//! [`rows`] lists the shapes and the rows they fill. A shape is [`measured`] in [`steps`](step), which go to a [`process`] that begins
//! with it and ends with it. [`ours`] and [`kube`] begin a loop; what is done with it is the same for both: [`near`] in the process,
//! [`far`] over the wire.

mod far;
mod kube;
mod measured;
mod near;
mod ours;
mod process;
mod rows;
mod shape;
mod step;
mod suite;

pub(crate) use process::{ControllerLibrary, serve};
pub(crate) use suite::run;
