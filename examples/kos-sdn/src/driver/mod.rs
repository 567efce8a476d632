//! Load: attachments that are made and deleted by a plan, looked at, tested with frames, and timed.

mod files;
mod made;
mod run;
mod settings;
mod test;
mod watch;

pub use files::{Directory, read_records};
pub use run::{Driven, drive};
pub use settings::{DriveSettings, Nodes};
