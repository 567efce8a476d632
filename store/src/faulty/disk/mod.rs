//! A disk in memory that keeps apart what is cached and what is durable, and fails on request.

mod cut;
mod files;
mod handle;
mod plan;
mod platter;

pub use cut::{Damage, Lost};
pub use handle::Disk;
pub use plan::{Call, Effect, Fault};
pub use platter::SECTOR;
