//! In-process access to the server: typed objects, encoded only to be stored.

mod apply;
mod decoded;
mod directory;
mod errors;
mod interest;
mod read;
mod served;
mod typed;
mod watch;
mod write;

pub(crate) use decoded::DecodedCaches;
pub use directory::KindDirectory;
pub use typed::Handle;
