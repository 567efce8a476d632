//! The watch cache: the objects of a kind at the newest revision, indexed, and the index of their
//! watchers.
//!
//! An event is looked up in the index by the object's state before and after, so its cost depends
//! on its receivers only. Pending revisions are read from a shared ring and, if dropped from it,
//! from the store.
//!
//! * [`object_state`]: an object with its parsed labels and fields
//! * [`filter`], [`term`]: the filter of a watch or list, and its place in the index
//! * [`ring`], [`index`], [`watchers`], [`objects`], [`hub`]: state without clock or waiting
//! * [`watch_cache`], [`caches`]: the cache of one kind, and all of them
//! * [`watcher`]: one watcher

mod caches;
mod filter;
mod hub;
mod index;
mod object_state;
mod objects;
mod pending;
mod ring;
mod term;
mod watch_cache;
mod watcher;
mod watchers;

#[cfg(test)]
mod tests;

pub(crate) use caches::WatchCaches;
pub(crate) use filter::{KeyField, ObjectFilter};
pub(crate) use hub::StopReason;
pub(crate) use object_state::{ObjectState, StoredLabels};
pub(crate) use objects::{SelectedObjects, View};
pub(crate) use ring::{EventEncoding, RevisionChanges, WatchChange};
pub(crate) use term::Term;
pub(crate) use watch_cache::WatchCache;
pub(crate) use watcher::{CacheWatcher, EventType, MissedRange, WatchKeys, WatcherItem};
