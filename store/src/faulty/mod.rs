//! Faults as an input: a disk that loses and tears what is not synced, and a backend that fails as a network does.
//!
//! Every fault here is one that the contract allows ([`Files`](crate::files::Files), [`Backend`](crate::Backend)): code
//! that fails under it is wrong. Chance comes from a seed, and what happened is counted, so a test can insist that the
//! fault it is about did occur.
//!
//! ```
//! use machinery_store::faulty::{FaultyDisk, PowerLoss};
//! use machinery_store::files::{File, Files};
//!
//! let disk = FaultyDisk::new();
//! let file = disk.create("notes")?;
//! file.write_at(b"kept", 0)?;
//! file.sync()?;
//! disk.sync()?;
//! file.write_at(b"lost", 0)?;
//! assert_eq!(disk.contents()["notes"], b"lost");
//! assert_eq!(disk.crash(PowerLoss::Everything, 1).contents()["notes"], b"kept");
//! # Ok::<(), std::io::Error>(())
//! ```

mod backend;
mod dice;
mod disk;
mod gate;

pub use backend::{FaultCounts, FaultOdds, FaultyBackend, HoldGuard};
pub use dice::Dice;
pub use disk::{CrashDamage, DiskCall, DiskFault, FaultEffect, FaultyDisk, PowerLoss, SECTOR};
pub use gate::Gate;
