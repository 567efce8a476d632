//! A disk in memory that distinguishes cached from durable data, and fails on request.

mod cut;
mod files;
mod handle;
mod plan;
mod platter;

pub use cut::{CrashDamage, PowerLoss};
pub use handle::FaultyDisk;
pub use plan::{DiskCall, DiskFault, FaultEffect};
pub use platter::SECTOR;
