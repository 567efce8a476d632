//! A transactional key-value store with revisions and watches: in memory, or on disk as a log.
//!
//! Keys are text, values are bytes, and both are yours. A [`Transaction`] changes several keys at one revision, if all its
//! conditions hold; a [`Range`] reads as of one revision; a [`Watch`] yields every change after one. [`Memory`] and [`Disk`] are two
//! [`Backend`]s over one core. The disk's is a log: one sync makes all transactions durable that wait for it.
//!
//! # What it promises
//!
//! Each promise names what holds it: behaviours of [`conformance`], which run on every backend, and tests in `tests/it/`.
//!
//! 1. **Strictly serializable**: what is acknowledged is seen by whoever asks later, on any handle
//!    (`memory_history_is_valid`, `disk_history_is_valid`, `a_read_sees_every_write_before_it`, `concurrent_increments_lose_no_update`).
//! 2. **Whole**: a transaction has one revision, or no effect (`a_transaction_has_one_revision`,
//!    `a_refused_transaction_has_no_effect`, `readers_see_whole_transactions`).
//! 3. **A revision is used once**, rises by one with each commit, and is never taken back, whatever happens to the process
//!    (`revisions_rise`, `no_revision_is_used_again`, `a_compaction_does_not_take_the_revision_back`).
//! 4. **What is acknowledged survives** the process and the machine's power
//!    (`a_power_cut_at_any_step_loses_nothing_acknowledged_or_visible`, `a_hundred_kills_under_load_lose_nothing`).
//! 5. **Nothing is shown before it is durable**: no read, no watch, no refusal (`nothing_is_visible_before_its_sync`,
//!    `a_conflict_waits_for_the_sync_it_depends_on`).
//! 6. **A read at a revision is the same for ever**, page by page, until that revision is compacted; then it is refused
//!    (`a_read_at_a_revision_is_the_same_for_ever`, `pages_are_of_one_revision_during_writes`).
//! 7. **A watch leaves nothing out**, repeats nothing, keeps the order, tells a revision whole, and can be resumed from any
//!    revision that is not compacted, also after a restart (the nine validators of [`history`],
//!    `a_list_and_a_watch_after_it_have_no_gap`, `a_watch_resumes_in_the_reopened_store`).
//! 8. **A slow watch is ended by name**, costs no memory of its own, and harms nobody (`a_slow_watch_is_ended_and_has_no_gap`,
//!    `fifty_unread_watches_block_nobody`).
//! 9. **Compaction**, by hand or by policy, **removes only what is asked to go**: nothing that lives, and no change that somebody
//!    may still ask for (`compaction_never_removes_a_live_entry`, `a_compaction_on_a_delete_loses_no_delete`, `p09_…`).
//! 10. **Damage is found**: a flipped bit is an error that names the file, or makes no difference; it is never data
//!     (`no_flipped_bit_is_served`).
//! 11. **After a failed sync nothing more is written**, and the error says why; reads go on, and opening again recovers
//!     (`a_failed_sync_or_write_ends_writes_but_not_reads`, `reopening_rewrites_the_batch_a_failed_sync_dropped`).
//!     Lack of room is no such failure: what finds none is refused, and writing goes on when there is some
//!     (`a_full_disk_accepts_writes_again_without_a_reopen`).
//! 12. **A snapshot is restored whole or not at all**, at revisions that no client of the old store has seen (`p12_…`).
//! 13. **Every released format is opened for ever**; an older one is copied before it is written anew (`p13_…`).
//! 14. **Every limit has a name** in [`Limits`], and an error that says it (`conformance::limits`); who finds the line full waits.
//! 15. **What is no store is left alone**: other files, a newer format, a cut file, another process, a full or read-only disk are
//!     errors that name the path and the way out, and no byte is changed (`bad_input.rs`).
//! 16. **What it writes is for its owner alone**: files 0600, directories 0700 (`files_are_accessible_to_their_owner_only`).
//! 17. **Sealed values are in no file**, under the feature `sealed`; what was changed, cut or moved is refused, and keys are replaced: the
//!     promises of [`sealed`] (`no_value_is_in_any_file_of_a_sealed_disk`, `a_changed_cut_or_moved_value_is_refused`,
//!     `keys_are_rotated_and_removed`). Why: `docs/designs/021-encryption-at-rest.md`.
//!
//! # What it does not do
//!
//! - It does not replicate. Several servers share a backend that does.
//! - It keeps all data in memory: the disk is for what survives, not for what does not fit.
//! - It knows no time to live, no leases, no users. Who writes an entry may delete it.
//! - It does not look into values, and does not compress them. It encrypts none without the feature `sealed`.
//! - A transaction does not read. Read first, and make what was read a condition.
//!
//! # Example
//!
//! ```
//! use machinery_store::{Backend, CommitError, Disk, DiskOptions, Range, WatchItem, KeySpan, Transaction};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("hosts");
//! let store = Disk::open(&path, DiskOptions::default())?;
//!
//! // One owner for a name, whoever asks at the same time.
//! let claim = |owner: &str| Transaction::new().if_absent("/names/www").put("/names/www", owner.as_bytes());
//! store.commit(claim("blue")).await?;
//! match store.commit(claim("green")).await {
//!     Err(CommitError::Conflict(found)) => assert_eq!(&*found.current.unwrap().value, b"blue"),
//!     other => panic!("{other:?}"),
//! }
//!
//! // Everything there is, and from then on everything that happens.
//! let page = store.range(Range::of(KeySpan::prefix("/names/"))).await?;
//! let mut watch = store.watch(KeySpan::prefix("/names/"), page.at).await?;
//! store.commit(Transaction::new().delete("/names/www")).await?;
//! let WatchItem::Changes { events, .. } = watch.next().await? else { panic!("nobody asked for a mark") };
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
