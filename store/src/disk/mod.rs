//! A store on disk: the core of the one in memory, over a log that is synced before anything is shown or answered.

mod ahead;
mod checkpoint;
mod error;
mod format;
mod frame;
#[cfg(feature = "testing")]
mod fuzz;
mod keeper;
mod load;
mod log;
mod names;
mod open;
mod options;
mod pace;
mod record;
mod recover;
mod replay;
mod scan;
mod snapshot;
mod upgrade;
mod upkeep;
mod window;
mod writer;

pub use error::OpenError;
#[cfg(feature = "testing")]
pub use fuzz::recovery;
pub use open::Disk;
pub use options::DiskOptions;
pub use snapshot::{SnapshotError, restore};
