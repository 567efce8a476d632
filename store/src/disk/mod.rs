//! The disk backend: the core of the in-memory one, over a log that is synced before a commit is
//! visible or acknowledged.

mod batch_queue;
mod checkpoint;
mod error;
mod file_name;
mod format;
mod frame;
#[cfg(feature = "testing")]
mod fuzz;
mod load;
mod log;
mod maintenance;
mod open;
mod options;
mod ownership;
mod pipeline;
mod record;
mod recover;
mod replay;
mod scan;
mod scheduler;
mod snapshot;
mod upgrade;
mod window;
mod writer;

pub use error::OpenError;
#[cfg(feature = "testing")]
pub(crate) use file_name::LOCK;
#[cfg(feature = "testing")]
pub use fuzz::recovery;
pub use open::Disk;
pub use options::DiskOptions;
pub use snapshot::{SnapshotError, restore};
