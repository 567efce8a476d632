//! Kinds that the program brings: Rust types, with defaulting, validation and guards.

mod carry;
mod guard;
mod hooks;
mod kind_of;
mod made;
mod sections;
mod wrong;

pub use kind_of::KindOf;
pub(crate) use kind_of::Own;
pub(crate) use made::{made, not_defined};
pub use wrong::Wrong;
