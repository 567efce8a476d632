//! Informers on real servers, and on a fake source with faults.
#![cfg(not(machinery_loom))]
#![allow(clippy::unwrap_used)]

mod drift;
mod examples;
mod interests;
mod keyed;
mod keyed_limits;
mod keyed_model;
mod keyed_modes;
mod lifecycle;
mod limits;
mod model;
mod moves;
mod on_the_server;
mod over_the_wire;
mod panics;
mod peers;
mod restored;
mod support;
mod writes;
mod yields;
