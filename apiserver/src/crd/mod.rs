//! CustomResourceDefinitions: kinds defined at run time.

mod accept;
mod approval;
mod conditions;
mod hooks;
mod kinds;
mod names;
mod subresources;
mod types;
mod unknown;
mod validate;

pub(crate) use accept::{Accepted, NameReservations};
pub(crate) use approval::{CONFORMANT, approval_condition};
pub(crate) use conditions::{condition, drop_condition, set_condition};
pub(crate) use hooks::{CLEANUP, Definitions};
pub(crate) use kinds::{DefinedKinds, kinds};
pub(crate) use names::names;
