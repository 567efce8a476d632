//! A map with indexes that is read as of a moment while it is written.
//!
//! One writes, many read. A reader takes a snapshot, which costs a pointer at any size, and then reads the entries and
//! all indexes as one commit left them, for as long as it likes, without a lock. The writer goes on meanwhile, and
//! copies the small blocks that it changes under somebody's eyes. It is what a cache of objects, a store in memory and a
//! watch cache have in common.
//!
//! # What it promises
//!
//! Each promise names the tests that hold it: in `tests/it/`, in `tests/loom.rs` (every interleaving of three threads,
//! marked *loom*), and against a naive model over random sequences of changes, with snapshots held across them
//! (`the_map_is_the_model`: everything that can be asked, after every change).
//!
//! 1. **One moment.** A [`Snapshot`] shows the entries and every index as one commit left them, whatever comes after:
//!    also a key that has left since, or left and come back (`p01_…`; loom:
//!    `changes_of_one_entry_are_seen_with_their_index`, `a_get_beside_changes_in_place_never_goes_back`,
//!    `a_snapshot_keeps_a_key_that_is_removed_and_inserted_again`).
//! 2. **Nobody waits for a reader.** A snapshot is a pointer, and copies nothing; a list in the middle of it holds no
//!    writer (`p02_…`). What it costs the writer is a copy of the blocks that it then changes, once for each snapshot. One
//!    [`Map::get`] holds it for one lookup.
//! 3. **All or nothing.** What a [`Writer`] changes is seen when it commits, all together; dropped, it has changed nothing
//!    (`p03_…`; loom: `a_change_of_several_entries_is_seen_whole`, `a_replaced_map_is_seen_whole`,
//!    `deferred_indexes_are_seen_with_their_entries`, `a_change_that_is_dropped_is_never_seen`, `two_writers_lose_nothing`).
//! 4. **Indexes** by any function with any number of values, by the keys, by a text, by labels; each in order, so exact values, ranges
//!    and prefixes are one thing. A value counts once an entry, and goes with its last entry (`p04_…`).
//! 5. **Cost.** A list costs what it finds; a change that moves no value of an index does not search it (`p05_…`).
//! 6. **Whole after a panic** of the user's, in whichever call of an index's function, a comparison, a hash or a clone: the
//!    change has happened or it has not (`a_panic_anywhere_leaves_the_map_whole`, which breaks each call in turn).
//! 7. **Drops are free.** Keys and values are dropped when nobody can see them, and where no lock is held: a drop may read
//!    and write the map (`dropping.rs`).
//! 8. **Garbage is bounded.** Slots are used again at once, whoever holds a snapshot; the hash table is built anew before
//!    four fifths of it are in use; both shrink. [`Map::usage`] counts them (`p08_…`; loom:
//!    `a_key_is_found_while_the_table_is_rebuilt`).
//! 9. **The tree alone** ([`Tree`]) is a sorted map with a clone in O(1) (`a_tree_is_a_sorted_map`,
//!    `a_panic_anywhere_leaves_a_tree_as_it_was`).
//!
//! # What it does not do
//!
//! - It has one writer at a time; others wait for it ([`Map::write`]). Readers do not.
//! - It does not tell anybody that something changed.
//! - A snapshot that is kept for ever keeps alive all that it shows. Take one, read, and let it go.
//! - A change of one entry is made in place, under the lock that [`Map::snapshot`] and [`Map::get`] take for a moment; so that
//!   moment is as long as one such change at the most. The values of indexes are compared and cloned under it, and so are keys and
//!   values by `get`: these operations must not use the map.
//! - No order of keys without an index of them; [`Snapshot::iter`] goes by place.
//! - It holds fewer than 2^31 entries, and panics at the next.
//!
//! # Example
//!
//! ```
//! use machinery_snapshot::{Label, Map};
//! use std::collections::BTreeMap;
//! use std::sync::Arc;
//!
//! struct Pod { node: Option<Arc<str>>, labels: BTreeMap<String, String> }
//!
//! let mut builder = Map::<Arc<str>, Arc<Pod>>::builder(42);           // a seed for its hash table
//! let by_name = builder.keys();                                       // in order: ranges and prefixes
//! let by_node = builder.index(|_, pod: &Arc<Pod>| pod.node.clone());  // an Option, an array, a Vec: any number of values
//! let by_label = builder.labels(|pod: &Arc<Pod>| &pod.labels);
//! let pods = builder.build();
//!
//! let pod = |node: &str| {
//!     let labels = [("app".to_owned(), "web".to_owned())].into();
//!     Arc::new(Pod { node: Some(node.into()), labels })
//! };
//! pods.insert("default/a".into(), pod("n1"));
//!
//! let mut change = pods.write();                                      // several changes that are seen as one
//! change.insert("default/b".into(), pod("n1"));
//! change.insert("kube-system/c".into(), pod("n2"));
//! change.commit();
//!
//! let before = pods.snapshot();
//! pods.remove("default/a");
//!
//! assert_eq!(before.by(&by_node, "n1").count(), 2);                   // as it was
//! assert_eq!(pods.snapshot().count(&by_node, "n1"), 1);
//! assert_eq!(before.prefix(&by_name, "default/").map(|(name, _)| &**name).collect::<Vec<_>>(), ["default/a", "default/b"]);
//! assert_eq!(before.by(&by_label, &Label::new("app", "web")).count(), 3);
//! assert!(pods.get("default/a").is_none() && before.get("default/a").is_some());
//! ```

mod builder;
mod entries;
mod index;
mod map;
mod slot_allocator;
mod slots;
mod snapshot;
mod table;
mod tree;
mod version;
mod writer;

pub use builder::Builder;
pub use entries::{Counts, Entries};
pub use index::{Index, Label};
pub use map::{Map, Usage};
pub use snapshot::Snapshot;
pub use tree::{Range, Tree};
pub use writer::Writer;
