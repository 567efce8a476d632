//! Every decision of the store, without lock, clock or await: what a transaction does, and what compaction gives up.

mod apply;
mod check;
mod history;
mod interest;
mod retain;
mod table;
mod version;

pub(crate) use apply::Core;
pub(crate) use check::check;
pub(crate) use history::{History, Revised};
pub(crate) use interest::Interests;
pub(crate) use retain::Retaining;
pub(crate) use table::{Loading, Table, View};
pub(crate) use version::{State, Version};
