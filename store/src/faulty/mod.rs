//! Fault injection: a disk that loses and tears unsynced data, and a backend that fails like one
//! behind a network.
//!
//! The contracts of [`Files`](crate::files::Files) and [`Backend`](crate::Backend) allow every
//! fault here: code that fails under them is wrong. A seed determines all randomness, and faults
//! are counted, so that a test can require that its fault did occur.
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
