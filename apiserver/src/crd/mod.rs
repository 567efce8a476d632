//! CustomResourceDefinitions: kinds that are made while the server runs.

mod conditions;
mod hooks;
mod kinds;
mod names;

pub(crate) use conditions::{condition, set_condition};
pub(crate) use hooks::{CLEANUP, Definitions};
pub(crate) use kinds::kinds;
pub(crate) use names::names;
