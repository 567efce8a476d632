//! Every decision of the store, without lock, clock or await: what a transaction does, and what compaction gives up.

mod apply;
mod check;
mod history;
mod retention;
mod table;
mod version;
mod watch_index;

pub(crate) use apply::Core;
pub(crate) use check::check;
pub(crate) use history::{ChangeHistory, RevisionChanges};
pub(crate) use retention::RetentionTracker;
pub(crate) use table::{Table, TableLoader, View};
pub(crate) use version::{State, Version};
pub(crate) use watch_index::WatchIndex;
