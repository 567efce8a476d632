//! A map with indexes that is read through immutable snapshots while it is written.
//!
//! One writer, many readers. Taking a [`Snapshot`] costs a pointer clone at any size; it then reads
//! the entries and all indexes of one commit, without a lock, for as long as needed. The writer
//! continues meanwhile, and copies the small blocks that it changes and that a snapshot shares.
//! Object caches, in-memory stores and watch caches are built on it.
//!
//! # Promises
//!
//! A test belongs to promise *n* if its name begins with `p`*nn*`_` (in `tests/it/`). Other tests
//! of a promise are listed below the table; those in `tests/loom.rs` run every interleaving of
//! three threads. `the_map_is_the_model` compares the map with a naive model over random sequences
//! of changes, with snapshots held across them: every query, after every change.
//!
//! | # | claim | tests |
//! |---|---|---|
//! | 1 | Consistent: a [`Snapshot`] has the entries and indexes of one commit | `p01_`, loom |
//! | 2 | Readers block no writer: a snapshot is a pointer and copies nothing | `p02_` |
//! | 3 | Atomic: the changes of a [`Writer`] are visible together at its commit | `p03_`, loom |
//! | 4 | Indexes by any function, by key, text or labels; sorted | `p04_` |
//! | 5 | A list costs its results; an update of no indexed value skips the index | `p05_` |
//! | 6 | Consistent after a panic of user code: a change is applied or it is not | below |
//! | 7 | Keys and values are dropped when unreachable, outside of all locks | `dropping.rs` |
//! | 8 | Garbage is bounded: slots are reused, and the hash table is rebuilt | `p08_`, loom |
//! | 9 | [`Tree`] alone is a sorted map with a clone in O(1) | below |
//!
//! - 1: later commits do not change a snapshot, also if a key is removed and inserted again.
//!   `changes_of_one_entry_are_seen_with_their_index`,
//!   `a_get_beside_changes_in_place_never_goes_back`,
//!   `a_snapshot_keeps_a_key_that_is_removed_and_inserted_again`.
//! - 2: the writer copies each changed block at most once per snapshot. A [`Map::get`] blocks it
//!   for one lookup.
//! - 3: a dropped writer changes nothing. `a_change_of_several_entries_is_seen_whole`,
//!   `a_replaced_map_is_seen_whole`, `deferred_indexes_are_seen_with_their_entries`,
//!   `a_change_that_is_dropped_is_never_seen`, `two_writers_lose_nothing`.
//! - 4: an entry may have any number of values; exact values, ranges and prefixes use the same
//!   index. A value is removed with its last entry.
//! - 6: `a_panic_anywhere_leaves_the_map_whole` breaks each call of an index function, comparison,
//!   hash or clone in turn.
//! - 7: a drop may read and write the map.
//! - 8: slots are reused at once, even while snapshots are held; the table is rebuilt before four
//!   fifths of it are used; both shrink. [`Map::usage`] counts them.
//!   `a_key_is_found_while_the_table_is_rebuilt`.
//! - 9: `a_tree_is_a_sorted_map`, `a_panic_anywhere_leaves_a_tree_as_it_was`.
//!
//! # Non-goals
//!
//! - One writer at a time; others wait for it ([`Map::write`]). Readers do not.
//! - No change notifications.
//! - A snapshot keeps all its entries alive. Take one, read, and drop it.
//! - A change of one entry is made in place, under the lock that [`Map::snapshot`] and [`Map::get`]
//!   take briefly, so they wait for at most one such change. The values of indexes are compared and
//!   cloned under this lock, and so are keys and values by `get`: these operations must not use the
//!   map.
//! - Keys are not sorted without an index of them; [`Snapshot::iter`] is in slot order.
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
//! let mut builder = Map::<Arc<str>, Arc<Pod>>::builder(42);    // the seed of its hash table
//! let by_name = builder.keys();                                // sorted: ranges, prefixes
//! let by_node = builder.index(|_, pod: &Arc<Pod>| pod.node.clone());
//! let by_label = builder.labels(|pod: &Arc<Pod>| &pod.labels);
//! let pods = builder.build();
//!
//! let pod = |node: &str| {
//!     let labels = [("app".to_owned(), "web".to_owned())].into();
//!     Arc::new(Pod { node: Some(node.into()), labels })
//! };
//! pods.insert("default/a".into(), pod("n1"));
//!
//! let mut change = pods.write();                               // several changes, atomically
//! change.insert("default/b".into(), pod("n1"));
//! change.insert("kube-system/c".into(), pod("n2"));
//! change.commit();
//!
//! let before = pods.snapshot();
//! pods.remove("default/a");
//!
//! assert_eq!(before.by(&by_node, "n1").count(), 2);            // unchanged
//! assert_eq!(pods.snapshot().count(&by_node, "n1"), 1);
//! let names: Vec<_> = before.prefix(&by_name, "default/").map(|(name, _)| &**name).collect();
//! assert_eq!(names, ["default/a", "default/b"]);
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
