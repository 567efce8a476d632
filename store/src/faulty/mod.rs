//! Faults as an input: a disk that loses and tears what is not synced, and a backend that fails as a network does.
//!
//! Every fault here is one that the contract allows ([`Files`](crate::files::Files), [`Backend`](crate::Backend)): code
//! that fails under it is wrong. Chance comes from a seed, and what happened is counted, so a test can insist that the
//! fault it is about did occur.

mod backend;
mod dice;
mod disk;
mod gate;

pub use backend::{Backend, Fired, Hold, Odds};
pub use dice::Dice;
pub use disk::{Call, Damage, Disk, Effect, Fault, Lost, SECTOR};
pub use gate::Gate;
