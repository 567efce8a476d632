//! The controllers: thin shells around the decisions in [`plan`](crate::plan).

mod ipam;
mod run;
mod silence;
mod validator;

pub use ipam::Ipam;
pub use run::{ControllerSettings, Controllers, lead, run};
