//! The store's decisions, without locks, clocks or awaits: applying transactions and compacting.

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
