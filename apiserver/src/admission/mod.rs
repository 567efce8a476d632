//! Admission: who is asked before an object is written.

mod config;

pub(crate) use config::{Configurations, GROUP};
