//! The controllers: thin shells around the decisions in [`plan`](crate::plan).

mod allocations;
mod events;
mod ipam;
mod run;
mod validator;

pub use ipam::Ipam;
pub use run::{ControllerSettings, Controllers, lead, run};
