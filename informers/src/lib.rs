//! Informers: caches of listed and watched objects, with keys that may change at run time.
//!
//! An [`Informer`] caches the objects of one source: the initial list, watch events, and a relist
//! where a watch cannot be resumed. The cache is read in snapshots, has indexes, and notifies event
//! handlers. [`KeyedInformers`] cache only the objects under keys with an [`Interest`]; the set of
//! keys changes at run time, and a source with interest streams sends no event for other keys. A
//! [`LookupMap`] finds the informer that holds the object with a given name.
//!
//! A source implements [`ListWatch`](machinery_objects::ListWatch): a server in this process, any
//! Kubernetes server, or a script.
//!
//! The counterparts of client-go: reflector ([`ReflectorLimits`], [`ReflectorError`]), indexer
//! ([`Builder::index`]), event handler ([`Informer::add_handler`]), tombstone
//! ([`deliver::Removal`]), relist ([`Informer::relist`]), `WaitForCacheSync`
//! ([`Informer::synced`]), transform ([`Informer::projection`]), and instead of the resync a drift
//! check ([`Builder::drift_check`]).
//!
//! # Promises
//!
//! Tests are found by name: beside the code, in `tests/it/`, or in `tests/loom.rs` (*loom*: every
//! interleaving of three threads). *Models* are two tests that check most promises at once, over
//! random writes and faults: `tests/it/model/` and `tests/it/keyed_model.rs`.
//!
//! | # | claim | tests |
//! |---|---|---|
//! | 1 | The cache equals the source at some version, and no object goes back to an earlier version. | `the_cache_equals_the_source_at_some_version_and_events_add_up`, `stale_events_do_not_resurrect_deleted_objects` |
//! | 2 | The events of a handler add up to the cache: for each key a subsequence of its history, in order, with the same end. A late handler first receives the cached objects. | the models; loom: `a_late_handler_misses_and_repeats_nothing`, `two_writers_are_delivered_in_cache_order` |
//! | 3 | A relist replaces the cache atomically and delivers each vanished object to every handler, with its last state; unchanged objects keep their `Arc`. | `a_list_that_expires_between_pages_restarts_and_is_then_unpaged`, the models |
//! | 4 | Deletions are typed: [`Event`](machinery_objects::Event) distinguishes them from leaving the filter, where the source can. | `a_deletion_carries_the_last_known_state`, `leaving_the_filter_differs_from_deletion` |
//! | 5 | Reads block no writer: [`Informer::read`] costs a pointer, a lookup is linear in its results. | the promises of `machinery-snapshot`, `a_long_read_blocks_no_writer` |
//! | 6 | Indexes by any function, by key or by label are ordered and change together with the cache. A panic of an index function leaves the cache intact. | `objects_are_found_by_value_range_prefix_and_label`, `all_indexes_are_read_at_one_version`, `an_object_whose_index_function_panics_is_not_indexed` |
//! | 7 | A slow handler blocks nothing and needs memory only per key; its lag is reported, and a panic loses one event ([`deliver`]). | loom: `a_put_is_never_lost` |
//! | 8 | Read your writes: [`Informer::wait_for`] returns once the cache shows a write or is past it, also if the object left the filter; [`KeyedInformers::wait_for`] also if it left all keys. | `tests/it/writes.rs`, over TLS `an_informer_over_tls_converges_across_server_restarts`, `keyed_informers_read_your_writes`, `wait_for_waits_for_the_slowest_stream` |
//! | 9 | The maximum age of the cache is reported, and the error that keeps it from being updated: [`Informer::state`], [`ReflectorError`]. | `the_age_of_the_cache_is_reported`, `an_idle_watch_that_lasts_counts_as_recovered` |
//! | 10 | A projection is cached instead of the object, applied while decoding: [`Informer::projection`]. | `an_object_is_projected_once` |
//! | 11 | Each fault of a source is an entry in a table (`reflect/tests.rs`): endless pages, 410 anywhere, 429, silence, a streamed state without its end bookmark, a replica that is behind, a restored backup. Back-offs grow and have jitter. A full cache keeps its state, of an [`Informer`] and of keyed informers by their total. | `a_full_cache_keeps_its_state_until_all_fits`, `full_keyed_informers_keep_their_state_until_all_fits` |
//! | 12 | A drift check of an [`Informer`] compares the cache with a list, counts differences and relists ([`Builder::drift_check`]). Keyed informers have none. | `a_lost_change_is_found_and_healed`, `nothing_drifts_while_everything_changes`, `every_difference_is_eventually_fetched` |
//! | 13 | An interest is a guard: the first interest in a key starts caching its objects. Once the drop of the last one has returned, or [`KeyedBuilder::linger`] has passed, the objects are released, handlers were notified, and late events change nothing. [`KeyedInformers::completions`] reports each complete key, in order and once. | `interests_are_acquired_and_released_on_one_stream`, `interests_are_acquired_and_released_with_a_stream_per_key`, over TLS `keyed_informers_over_tls_converge_on_one_stream`, `keyed_informers_over_tls_converge_with_a_stream_per_key`; loom: `an_event_for_a_released_key_changes_nothing`, `an_acquire_during_the_last_release_gets_a_live_tenure`; `completions_report_each_key_once_it_is_complete` |
//! | 14 | When a name that two keys held becomes unique, handlers receive an event, in each of the six orders of the two streams and a lookup. On one stream no name is ever ambiguous. | `with_a_stream_per_key_an_ambiguity_ends_with_a_notification`; loom: `an_ambiguity_ends_with_a_notification`; `on_one_stream_a_moving_object_is_never_ambiguous` |
//! | 15 | An object that cannot be decoded, or whose code panics, hides no others: it is counted and reported by name ([`State::unreadable`], [`KeyedState::unreadable`]). | `an_unreadable_object_keeps_its_last_state`, `tests/it/panics.rs`, `a_panicking_object_hides_no_others` |
//! | 16 | A set of keys may exceed a request, and a broken stream costs only the keys that were not known yet. After a restore a key keeps its last known objects, and is complete once relisted. | `ten_times_the_request_limit_of_keys_become_complete`, `a_break_during_an_edit_costs_only_the_added_keys`, `keys_relisted_by_edits_keep_their_state_and_are_incomplete_until_then` |
//! | 17 | Released interests leave no stream, key, name or task. | `ten_thousand_short_interests_leave_nothing`, `short_interests_on_one_stream_leave_nothing` |
//!
//! # Non-goals
//!
//! - No periodic resync that calls handlers for all objects again; the drift check replaces it.
//! - If the versions of a source are not ordered, a stale event cannot be detected: events are
//!   applied in the order of the source.
//! - No work queue and no writes: a handler adds keys to a queue of its own.
//! - Streams of single keys are not synchronized: between two of them an object may be under both
//!   keys or under none.
//! - No snapshot spans several informers.
//! - A panic in the text of a key affects only that key
//!   (`a_key_whose_text_panics_blocks_no_others`). A key that panics in comparison, hashing or
//!   cloning may stop the keyed informers that use it.
//!
//! # Example
//!
//! ```
//! # #[cfg(all(feature = "tokio", feature = "testing"))]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use machinery_informers::testing::{FakeSource, TestObject};
//! use machinery_informers::{Informer, KeyedInformers, Lookup};
//! use machinery_objects::{Capabilities, Event, InterestBy, ListWatch};
//! use std::sync::Arc;
//! use std::time::Duration;
//! use tokio_util::{sync::CancellationToken, task::TaskTracker};
//!
//! // A source for tests; or a server's handle, or `machinery_kube::Remote`.
//! let fake = FakeSource::of_test_objects(Capabilities::ALL);
//! let source: Arc<dyn ListWatch<TestObject>> = Arc::new(fake.clone());
//! let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
//!
//! let mut objects = Informer::<TestObject>::builder(source.clone());
//! let by_place = objects.index(|object: &TestObject| [object.place.clone()]);
//! let objects = objects.build();
//! tasks.spawn(objects.run(stopping.clone()));
//!
//! let written = fake.put(TestObject::new("default/a").at("rack-1"));
//! objects.wait_for(&written, Duration::from_secs(5)).await?; // the cache shows the write
//! assert_eq!(objects.read().by(&by_place, "rack-1").count(), 1);
//! let print = |event: Event<Arc<TestObject>>| println!("{}", event.object().key);
//! let handler = objects.add_handler(print)?;
//! handler.synced().await?; // a late handler has received the cached objects first
//!
//! let by = InterestBy::Field(TestObject::PLACE.into());
//! let key_of = |object: &TestObject| Some(object.place.to_string());
//! let racks = KeyedInformers::builder(source, by, key_of).build();
//! tasks.spawn(racks.run(stopping.clone()));
//! let rack = racks.acquire("rack-1".to_owned())?; // cached from here until it is dropped
//! rack.synced().await?;
//! let found = racks.lookup(&"default/a".parse()?);
//! assert!(matches!(found, Lookup::Unique(key, _) if key == "rack-1"));
//! drop(rack);
//! assert!(racks.read().is_empty());
//!
//! stopping.cancel();
//! tasks.close();
//! tasks.wait().await;
//! # Ok(()) }
//! # #[cfg(not(all(feature = "tokio", feature = "testing")))] fn main() {}
//! ```
//!
//! # Features
//!
//! - `tokio` (default): informers that run. Without it there are delivery queues and the lookup
//!   map.
//! - `prometheus` (default): [`Metrics`].
//! - `testing`: a fake source that injects faults.

#[cfg(feature = "tokio")]
mod cache;
pub mod deliver;
#[cfg(feature = "tokio")]
mod drift;
mod id;
#[cfg(feature = "tokio")]
mod informer;
#[cfg(any(feature = "tokio", machinery_loom))]
mod keyed;
mod lookup;
#[cfg(feature = "prometheus")]
mod metrics;
#[cfg(feature = "tokio")]
mod readable;
#[cfg(feature = "tokio")]
mod reflect;
#[cfg(feature = "tokio")]
mod seed;
#[cfg(feature = "tokio")]
mod source;
#[cfg(feature = "testing")]
pub mod testing;

pub use id::InformerId;
#[cfg(feature = "tokio")]
pub use informer::{Builder, Counts, Informer, State, WaitError};
#[cfg(machinery_loom)]
#[doc(hidden)]
pub use keyed::Model;
#[cfg(feature = "tokio")]
pub use keyed::{
    AcquireError, Completions, Interest, InterestError, Key, KeyedBuilder, KeyedCounts, KeyedInformers,
    KeyedState, SelectorKey,
};
pub use lookup::{Lookup, LookupMap, LookupSnapshot};
pub use machinery_snapshot::{Index, Label, Snapshot};
#[cfg(feature = "prometheus")]
pub use metrics::{Metrics, NameTaken};
#[cfg(feature = "tokio")]
pub use reflect::{ReflectorError, ReflectorLimits};
