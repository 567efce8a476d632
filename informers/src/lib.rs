//! Informers whose filter changes while they run.

pub mod deliver;
mod lookup;
mod reflect;

pub use lookup::{Lookup, LookupMap, LookupSnapshot};
