//! The objects, as they are read and as they are kept up to date.
//!
//! [`apply`] makes what a reflector says into changes of a [`store`], and into what handlers are told of them; [`relist`] is all of
//! it anew, beside what is there, and [`partial_relist`] some of it; [`progress`] is how far it has come, for those who wait.

mod apply;
mod partial_relist;
mod progress;
mod relist;
mod store;

pub(crate) use apply::{CacheWriter, Outcome};
pub(crate) use progress::CacheProgress;
pub(crate) use store::{AppliedChanges, ListedKeys, MapStore, ObjectStore, StoreTransaction};
