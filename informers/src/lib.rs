//! Informers whose filter changes while they run.

#[cfg(feature = "tokio")]
mod audit;
mod cache;
pub mod deliver;
#[cfg(feature = "tokio")]
mod informer;
#[cfg(feature = "tokio")]
mod keyed;
mod lookup;
mod reflect;
#[cfg(feature = "tokio")]
mod seed;
mod source;
#[cfg(feature = "testing")]
pub mod testing;

#[cfg(feature = "tokio")]
pub use informer::{Builder, Counts, Informer, NotReached, State};
#[cfg(feature = "tokio")]
pub use keyed::{
    Interest, Key, KeyedBuilder, KeyedCounts, KeyedInformers, KeyedState, NotAcquired, Released, Text,
};
pub use lookup::{Lookup, LookupMap, LookupSnapshot};
pub use machinery_snapshot::{Index, Label, Snapshot};
pub use reflect::{Limits, Trouble};
