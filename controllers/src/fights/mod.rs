//! Write fights: two writers that undo each other's change of a field.
//!
//! [`detector`] decides from the changes of objects that runs write, without I/O; [`fields`] names
//! the changed fields and their managers; [`shared`] is its shell in a controller. Design:
//! `docs/designs/036-own-writes.md`.

mod detector;
mod fields;
mod shared;
#[cfg(all(test, not(machinery_loom)))]
mod tests;

pub(crate) use fields::{ChangedFields, DocumentOf};
pub use shared::WriteFight;
pub(crate) use shared::{FightHook, SharedFights, Side};
