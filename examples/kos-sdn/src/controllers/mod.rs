//! The controllers: thin shells around the decisions of [`plan`](crate::plan).

mod ipam;
mod known;
mod validator;

pub use ipam::{Ipam, IpamSettings};
pub use validator::validate;
