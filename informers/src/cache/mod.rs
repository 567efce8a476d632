//! The object store of an informer: how objects are cached and kept up to date.
//!
//! [`apply`] turns the effects of a reflector into changes of a [`store`] and notifications for
//! handlers; [`relist`] collects a list that replaces the cache, [`partial_relist`] one that
//! replaces the objects of some keys; [`progress`] is the version of the cache, for waiters.

mod apply;
mod partial_relist;
mod progress;
mod relist;
mod store;

pub(crate) use apply::{CacheWriter, Outcome};
pub(crate) use progress::CacheProgress;
pub(crate) use store::{AppliedChanges, ListedKeys, MapStore, ObjectStore, StoreTransaction};
