//! The control loop of a controller, beside kube-runtime's `Controller`: over an in-process source,
//! and over the wire from one server.
//!
//! [`rows`] lists the shapes and the rows they fill. A shape is [`measured`] in [`steps`](step),
//! sent to a [`process`] of its own. [`ours`] and [`kube`] start a loop; the operations are the
//! same for both: [`near`] in the process, [`far`] over the wire. [`allocator`] has no peer.

mod allocator;
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
