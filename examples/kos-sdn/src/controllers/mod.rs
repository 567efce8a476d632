//! The controllers: thin shells around the decisions of [`plan`](crate::plan).

mod ipam;
mod known;
mod listen;
mod run;
mod silence;
mod validator;

pub use ipam::Ipam;
pub use run::{ControllerSettings, Controllers, lead, run};
