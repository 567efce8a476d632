//! A transactional key-value store with revisions and watches: in memory, or on disk as a log.
//!
//! Keys are text; values are bytes that the store does not interpret. A [`Transaction`] changes
//! several keys at one revision, if all its conditions hold; a [`Range`] reads at one revision; a
//! [`Watch`] yields every change after a given revision. [`Memory`] and [`Disk`] are two
//! [`Backend`]s over one core. The disk backend writes a log, and shares one sync among all waiting
//! transactions (group commit).
//!
//! # Promises
//!
//! Tests without a path are behaviours of [`conformance`], which run on every backend, or tests in
//! `tests/it/`; `p09_`, `p12_` and `p13_` are prefixes of test names.
//!
//! | # | claim | tests |
//! |---|---|---|
//! | 1 | **Strictly serializable**: an acknowledged commit is visible to every later read, on any handle | `memory_history_is_valid`, `disk_history_is_valid`, `a_read_sees_every_write_before_it`, `concurrent_increments_lose_no_update` |
//! | 2 | **Atomic**: a transaction has one revision, or no effect | `a_transaction_has_one_revision`, `a_refused_transaction_has_no_effect`, `readers_see_whole_transactions` |
//! | 3 | **A revision is used once**, increases by one with each commit, and is never taken back, also over crashes | `revisions_rise`, `no_revision_is_used_again`, `a_compaction_does_not_take_the_revision_back` |
//! | 4 | **Acknowledged commits survive** a kill of the process and a power cut | `a_power_cut_at_any_step_loses_nothing_acknowledged_or_visible`, `a_hundred_kills_under_load_lose_nothing` |
//! | 5 | **Durable before visible**: no read, watch or conflict shows a commit before its sync | `nothing_is_visible_before_its_sync`, `a_conflict_waits_for_the_sync_it_depends_on` |
//! | 6 | **A read at a revision is repeatable**, page by page, until the revision is compacted; then it is refused | `a_read_at_a_revision_is_the_same_for_ever`, `pages_are_of_one_revision_during_writes` |
//! | 7 | **A watch has no gap**, no repetition and the order of commits, yields a revision whole, and resumes from any revision that is not compacted, also after a restart | the nine validators of [`history`], `a_list_and_a_watch_after_it_have_no_gap`, `a_watch_resumes_in_the_reopened_store` |
//! | 8 | **A slow watch ends with an error of its own**, needs no buffer, and affects no other client | `a_slow_watch_is_ended_and_has_no_gap`, `fifty_unread_watches_block_nobody` |
//! | 9 | **Compaction**, on request or by policy, **removes only history below its revision**: no live entry, and no change that a watch may still resume from | `compaction_never_removes_a_live_entry`, `a_compaction_on_a_delete_loses_no_delete`, `p09_…` |
//! | 10 | **Corruption is detected**: a flipped bit is an error that names the file, or has no effect; it is never read as data | `no_flipped_bit_is_served` |
//! | 11 | **After a failed sync the store writes nothing more**, and the error says why; reads continue, and reopening recovers. A full disk is no such failure: commits without space are refused, and accepted again when there is space | `a_failed_sync_or_write_ends_writes_but_not_reads`, `reopening_rewrites_the_batch_a_failed_sync_dropped`, `a_full_disk_accepts_writes_again_without_a_reopen` |
//! | 12 | **A snapshot is restored whole or not at all**, at revisions that no client of the old store has seen | `p12_…` |
//! | 13 | **Every released format can be opened**; files of an older one are copied before they are rewritten | `p13_…` |
//! | 14 | **Every limit has a name** in [`Limits`], and an error that states it; a commit waits while the queue is full | `conformance::limits` |
//! | 15 | **Opening refuses bad input unchanged**: foreign files, a newer format, a truncated file, another process, a read-only disk are errors that name the path and the remedy. A store on a full disk is opened for reads | `bad_input.rs`, `a_store_opened_on_a_full_disk_serves_reads_until_there_is_space` |
//! | 16 | **Files are private to their owner**: files 0600, directories 0700 | `files_are_accessible_to_their_owner_only` |
//! | 17 | **Sealed values are in no file in plain** (feature `sealed`); a changed, truncated or moved value is refused, and keys are rotated; see the promises of [`sealed`] and `docs/designs/021-encryption-at-rest.md` | `no_value_is_in_any_file_of_a_sealed_disk`, `a_changed_cut_or_moved_value_is_refused`, `keys_are_rotated_and_removed` |
//! | 18 | **A moved, replaced or removed directory, lock file or log** is noticed before the next acknowledgement, and ends writes; a log that two processes wrote to is not opened (`docs/designs/029-lost-ground.md`) | `ownership.rs` |
//!
//! # Non-goals
//!
//! - Replication: several servers share a replicated backend instead.
//! - Data larger than memory: the store keeps all data in memory, and the disk makes it durable.
//! - Time to live, leases and users: a writer deletes its own entries.
//! - Interpreting or compressing values. Only the feature `sealed` encrypts them.
//! - Reads inside a transaction: read first, and make the read entry a condition.
//!
//! # Example
//!
//! ```
//! use machinery_store::{
//!     Backend, CommitError, Disk, DiskOptions, KeySpan, Range, Transaction, WatchItem,
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("hosts");
//! let store = Disk::open(&path, DiskOptions::default())?;
//!
//! // A name has one owner, also when several clients claim it at the same time.
//! let claim = |owner: &str| {
//!     Transaction::new().if_absent("/names/www").put("/names/www", owner.as_bytes())
//! };
//! store.commit(claim("blue")).await?;
//! match store.commit(claim("green")).await {
//!     Err(CommitError::Conflict(found)) => assert_eq!(&*found.current.unwrap().value, b"blue"),
//!     other => panic!("{other:?}"),
//! }
//!
//! // A list, and then a watch of every later change.
//! let page = store.range(Range::of(KeySpan::prefix("/names/"))).await?;
//! let mut watch = store.watch(KeySpan::prefix("/names/"), page.at).await?;
//! store.commit(Transaction::new().delete("/names/www")).await?;
//! let WatchItem::Changes { events, .. } = watch.next().await? else {
//!     panic!("no progress was requested")
//! };
//! assert_eq!(&*events[0].before.as_ref().unwrap().value, b"blue");
//!
//! store.close().await?;
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "testing")]
pub mod conformance;
#[cfg(feature = "testing")]
pub mod faulty;
#[cfg(feature = "testing")]
pub mod history;
#[cfg(feature = "testing")]
pub mod model;
#[cfg(feature = "sealed")]
pub mod sealed;

pub mod files;

/// Entry points for fuzzing.
#[cfg(feature = "testing")]
pub mod testing {
    pub use crate::disk::recovery;
}

mod contract;
mod core;
mod disk;
mod memory;
mod options;
mod shared;

pub use contract::{
    Backend, Change, Commit, CommitError, CompactError, Condition, Conflict, Cursor, Entry, Event, Key,
    KeySpan, Limits, Operation, Page, Range, ReadError, Transaction, Value, Watch, WatchError, WatchItem,
    WatchStream,
};
pub use disk::{Disk, DiskOptions, OpenError, SnapshotError, restore};
pub use memory::Memory;
pub use options::{Options, Retention, Usage};
