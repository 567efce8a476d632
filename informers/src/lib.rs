//! Informers whose filter changes while they run.

#[cfg(feature = "tokio")]
mod audit;
#[cfg(feature = "tokio")]
mod cache;
pub mod deliver;
#[cfg(feature = "tokio")]
mod informer;
#[cfg(any(feature = "tokio", machinery_loom))]
mod keyed;
mod lookup;
#[cfg(feature = "tokio")]
mod reflect;
#[cfg(feature = "tokio")]
mod seed;
#[cfg(feature = "tokio")]
mod source;
#[cfg(feature = "testing")]
pub mod testing;

#[cfg(feature = "tokio")]
pub use informer::{Builder, Counts, Informer, NotReached, State};
#[cfg(machinery_loom)]
#[doc(hidden)]
pub use keyed::Model;
#[cfg(feature = "tokio")]
pub use keyed::{
    Interest, Key, KeyedBuilder, KeyedCounts, KeyedInformers, KeyedState, NotAcquired, Released, Text,
};
pub use lookup::{Lookup, LookupMap, LookupSnapshot};
pub use machinery_snapshot::{Index, Label, Snapshot};
#[cfg(feature = "tokio")]
pub use reflect::{Limits, Trouble};
