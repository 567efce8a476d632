//! Informers whose filter changes while they run.

#[cfg(feature = "tokio")]
mod audit;
mod cache;
pub mod deliver;
#[cfg(feature = "tokio")]
mod informer;
mod lookup;
mod reflect;
mod source;
#[cfg(feature = "testing")]
pub mod testing;

#[cfg(feature = "tokio")]
pub use informer::{Builder, Counts, Informer, NotReached, State};
pub use lookup::{Lookup, LookupMap, LookupSnapshot};
pub use machinery_snapshot::{Index, Label, Snapshot};
pub use reflect::{Limits, Trouble};
