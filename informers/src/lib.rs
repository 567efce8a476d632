//! Informers whose filter changes while they run.
//!
//! An [`Informer`] keeps what a source has of one kind: a cache that is read as of a moment, with indexes, and handlers that are told
//! what becomes of each object. [`KeyedInformers`] keep only what is under the keys that somebody holds an [`Interest`] in; which
//! keys these are changes as they run, and from a source with streams of interest not one event comes for another. A [`LookupMap`]
//! says which of several informers has an object of a name.
//!
//! A source is whatever implements [`ListWatch`](machinery_objects::ListWatch): the server in this process, any Kubernetes, a script.
//!
//! # What it promises
//!
//! Each promise names its tests: beside the code, in `tests/it/`, or in `tests/loom.rs` (every interleaving of three threads, marked
//! *loom*). Two models hold most of them at once, over random writes on a source that misbehaves in all known ways: `model/` an
//! informer, `keyed_model.rs` keyed ones. Keyed informers have no part in 12: it says so.
//!
//! 1. **The cache is what the source had at some version**, and of one key no version is followed by an earlier one
//!    (`the_cache_equals_the_source_at_some_version_and_events_add_up`, `stale_events_do_not_resurrect_deleted_objects`).
//! 2. **What a handler is told adds up to the cache**: of each key a part of its history, in order, with the same end. Who comes late is told
//!    first what is there (the models; loom: `a_late_handler_misses_and_repeats_nothing`,
//!    `two_writers_are_delivered_in_cache_order`).
//! 3. **What vanished is told**, to every handler and with its last state, when all is listed anew; that is seen whole, and what has not
//!    changed keeps its `Arc` (`a_list_that_expires_between_pages_restarts_and_is_then_unpaged`, the models).
//! 4. **Deletes are typed**, and leaving is told apart from them where the source can know: [`Event`](machinery_objects::Event)
//!    (`a_deletion_carries_the_last_known_state`, `leaving_the_filter_differs_from_deletion`).
//! 5. **Reads hold up nobody**: [`Informer::read`] is a pointer, a list costs what it finds (the promises of `machinery-snapshot`,
//!    `a_long_read_blocks_no_writer`).
//! 6. **Indexes** by any function, by key, by label, in order; they change with the map (`objects_are_found_by_value_range_prefix_and_label`,
//!    `all_indexes_are_read_at_one_version`). A function that panics leaves the cache whole (`an_object_whose_index_function_panics_is_not_indexed`).
//! 7. **A slow handler slows nobody**, and takes the room of a key each; its lag is known; one that panics goes on (loom: `a_put_is_never_lost`;
//!    [`deliver`]).
//! 8. **Read your writes**: [`Informer::reached`] waits until the cache shows a write or is past it, also where the object left the filter
//!    (`tests/it/writes.rs`; over TLS: `an_informer_over_tls_converges_across_server_restarts`);
//!    [`KeyedInformers::reached`] where it left all keys (`keyed_informers_read_your_writes`, `wait_for_waits_for_the_slowest_stream`).
//! 9. **How old it is is a number**, and what keeps it from being newer has a name: [`Informer::state`], [`ReflectorError`]
//!    (`the_age_of_the_cache_is_reported`, `an_idle_watch_that_lasts_counts_as_recovered`).
//! 10. **A projection is kept instead of the object**, made as each is read: [`Informer::projection`], or a source that reads no more
//!     (`an_object_is_projected_once`).
//! 11. **A source that misbehaves is an entry in a table** (`reflect/tests.rs`): pages without end, 410 anywhere, 429, silence, an end that
//!     never comes, a replica that is behind, a backup that was restored. Each wait grows, and none is alike. The cache of an
//!     [`Informer`] that is full says so and stays whole (`a_full_cache_keeps_its_state_until_all_fits`); so do keyed ones,
//!     by what is under all keys (`full_keyed_informers_keep_their_state_until_all_fits`).
//! 12. **Drift is looked for**: an audit of an [`Informer`] compares with a list, counts what differs, and lists anew ([`Builder::audit`];
//!     `a_lost_change_is_found_and_healed`, `nothing_drifts_while_everything_changes`,
//!     `every_difference_is_eventually_fetched`).
//! 13. **An interest is a guard**: the first begins what is told of a key; when the drop of the last has returned, or it has lingered so long as
//!     [`KeyedBuilder::linger`] says, nothing of it is held, that was told, and what still comes changes nothing
//!     (`interests_are_acquired_and_released_on_one_stream`, `…_by_a_stream_for_each_key`, over TLS `keyed_informers_over_the_wire_…`; loom:
//!     `an_event_for_a_released_key_changes_nothing`, `an_acquire_during_the_last_release_gets_a_live_tenure`).
//!     Whoever has to act when all under a key is known is told so, in order and once ([`KeyedInformers::completions`];
//!     `completions_report_each_key_once_it_is_complete`).
//! 14. **Whoever lets an ambiguous name rest is told of its end** (`with_a_stream_per_key_an_ambiguity_ends_with_a_notification`,
//!     in all six orders; loom: `an_ambiguity_ends_with_a_notification`). On one stream no name is ever ambiguous (`on_one_stream_a_moving_object_is_never_ambiguous`).
//! 15. **An object that cannot be read hides no others**: an [`Informer`] counts it, and knows it by name ([`State::unreadable`];
//!     `an_unreadable_object_keeps_its_last_state`). Keyed informers do, too
//!     ([`KeyedState::unreadable`]). One that panics is such an object (`tests/it/panics.rs`, `a_panicking_object_hides_no_others`).
//! 16. **A set of keys may be larger than a request**, and what a break of the stream costs is what was not known yet
//!     (`ten_times_the_request_limit_of_keys_become_complete`, `a_break_during_an_edit_costs_only_the_added_keys`).
//!     After a restore a key is complete when it has come anew, and is read as it was last known before that
//!     (`keys_relisted_by_edits_keep_their_state_and_are_incomplete_until_then`).
//! 17. **Interests that come and go leave nothing**: no stream, key, name or task (`ten_thousand_short_interests_leave_nothing`,
//!     `short_interests_on_one_stream_leave_nothing`).
//!
//! # What it does not do
//!
//! - It does not tell handlers everything again from time to time. What one wants of that is the audit.
//! - A cache of a source whose versions are not ordered cannot tell an old event from a new one; it takes the source's order.
//! - It has no queue: a handler puts keys into one. It writes nothing.
//! - What a stream of its own for each key tells, it tells in its own time: between two of them an object may be under both keys, or none.
//! - Several informers are not read as of one moment.
//! - A key whose text panics costs itself (`a_key_whose_text_panics_blocks_no_others`). One that panics where it is compared, hashed or
//!   cloned may end the keyed informers that have it: there is no telling keys apart without that.
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
//! let source = FakeSource::of_test_objects(Capabilities::ALL);                 // a source for tests; or a handle, or machinery_kube::Remote
//! let source: Arc<dyn ListWatch<TestObject>> = Arc::new(source.clone());
//! let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
//!
//! let mut things = Informer::<TestObject>::builder(source.clone());
//! let by_place = things.index(|thing: &TestObject| [thing.place.clone()]);
//! let things = things.build();
//! tasks.spawn(things.run(stopping.clone()));
//!
//! let written = source.put(TestObject::new("default/a").at("rack-1"));
//! things.reached(&written, Duration::from_secs(5)).await?;         // what I wrote is in there
//! assert_eq!(things.read().by(&by_place, "rack-1").count(), 1);
//! let handler = things.handle(|event: Event<Arc<TestObject>>| println!("{}", event.object().key))?;
//! handler.synced().await?;                                         // late is fine: it was told of what is there
//!
//! let by = InterestBy::Field(TestObject::PLACE.into());
//! let racks = KeyedInformers::builder(source, by, |thing: &TestObject| Some(thing.place.to_string())).build();
//! tasks.spawn(racks.run(stopping.clone()));
//! let rack = racks.acquire("rack-1".to_owned())?;                  // from here on, and until it is dropped
//! rack.synced().await?;
//! assert!(matches!(racks.lookup(&"default/a".parse()?), Lookup::Unique(rack, _) if rack == "rack-1"));
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
//! `tokio` (default): informers that run. `prometheus` (default): [`Metrics`]. Without it there are the inboxes of handlers and the lookup map. `testing`: a source in memory that
//! misbehaves as it is told to.

#[cfg(feature = "tokio")]
mod cache;
pub mod deliver;
#[cfg(feature = "tokio")]
mod drift;
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

#[cfg(feature = "tokio")]
pub use informer::{Builder, Counts, Informer, State, WaitError};
#[cfg(machinery_loom)]
#[doc(hidden)]
pub use keyed::Model;
#[cfg(feature = "tokio")]
pub use keyed::{
    AcquireError, Completions, Interest, Key, KeyedBuilder, KeyedCounts, KeyedInformers, KeyedState,
    Released, SelectorKey,
};
pub use lookup::{Lookup, LookupMap, LookupSnapshot};
pub use machinery_snapshot::{Index, Label, Snapshot};
#[cfg(feature = "prometheus")]
pub use metrics::{Metrics, NameTaken};
#[cfg(feature = "tokio")]
pub use reflect::{ReflectorError, ReflectorLimits};
