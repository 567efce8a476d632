//! The watch cache: the objects of a kind as of the newest revision, found by what they have; and the watches of them, found by
//! what they want.
//!
//! An event is looked up in the index of watches under what its object was and what it became, so it costs what it is delivered
//! to. What a watch has not looked at yet is in a ring that all share; what is not in the ring any more is in the store.
//!
//! * [`state`]: an object, with what it is found by
//! * [`wanted`], [`term`]: what a watch is of, and where an index has that
//! * [`ring`], [`index`], [`watches`], [`objects`], [`hub`]: what happens, without a clock or a wait
//! * [`cell`], [`caches`]: one kind's cache, and all of them
//! * [`follow`]: one watch's place in it

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
