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
mod cell;
mod follow;
mod hub;
mod index;
mod objects;
mod pending;
mod ring;
mod state;
mod term;
mod wanted;
mod watches;

#[cfg(test)]
mod tests;

pub(crate) use caches::Caches;
pub(crate) use cell::Cache;
pub(crate) use follow::{Follow, Keys, Missing, Next, What};
pub(crate) use hub::Ended;
pub(crate) use objects::{Found, View};
pub(crate) use ring::{Change, Form, Revised};
pub(crate) use state::{Labelled, State};
pub(crate) use term::Term;
pub(crate) use wanted::{By, Wanted};
