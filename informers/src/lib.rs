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
//!    (`the_cache_is_the_server_at_some_version_and_what_was_told_adds_up`, `what_was_told_before_it_went_does_not_come_back`).
//! 2. **What a handler is told adds up to the cache**: of each key a part of its history, in order, with the same end. Who comes late is told
//!    first what is there (the models; loom: `a_late_handler_misses_nothing_and_hears_nothing_twice`,
//!    `two_who_change_are_heard_in_the_order_of_the_cache`).
//! 3. **What vanished is told**, to every handler and with its last state, when all is listed anew; that is seen whole, and what has not
//!    changed keeps its `Arc` (`a_list_that_expires_between_pages_is_begun_anew_and_then_asked_for_whole`, the models).
//! 4. **Deletes are typed**, and leaving is told apart from them where the source can know: [`Event`](machinery_objects::Event)
//!    (`a_deletion_has_the_last_state_however_it_was_found_out`, `who_leaves_the_selection_is_told_apart_from_who_is_deleted`).
//! 5. **Reads hold up nobody**: [`Informer::read`] is a pointer, a list costs what it finds (the promises of `machinery-snapshot`,
//!    `a_reader_that_reads_for_long_keeps_nobody_out`).
//! 6. **Indexes** by any function, by key, by label, in order; they change with the map (`objects_are_found_by_value_range_prefix_and_label`,
//!    `all_indexes_are_read_as_of_one_moment`). A function that panics leaves the cache whole (`an_index_that_panics_finds_that_object_under_nothing`).
//! 7. **A slow handler slows nobody**, and takes the room of a key each; its lag is known; one that panics goes on (loom: `a_put_is_never_lost`;
//!    [`deliver`]).
//! 8. **Read your writes**: [`Informer::reached`] waits until the cache shows a write or is past it, also where the object left the filter
//!    (`tests/it/writes.rs`; over TLS: `an_informer_over_the_wire_comes_to_what_is_there_whatever_becomes_of_the_server`);
//!    [`KeyedInformers::reached`] where it left all keys (`what_one_wrote_is_read`, `of_two_streams_the_one_that_is_behind_is_waited_for`).
//! 9. **How old it is is a number**, and what keeps it from being newer has a name: [`Informer::state`], [`Trouble`]
//!    (`how_old_the_cache_may_be_is_known`, `a_watch_that_lasts_is_well_where_nothing_happens`).
//! 10. **A projection is kept instead of the object**, made as each is read: [`Informer::projection`], or a source that reads no more
//!     (`a_projection_is_made_once_of_what_comes`).
//! 11. **A source that misbehaves is an entry in a table** (`reflect/tests.rs`): pages without end, 410 anywhere, 429, silence, an end that
//!     never comes, a replica that is behind, a backup that was restored. Each wait grows, and none is alike. The cache of an
//!     [`Informer`] that is full says so and stays whole (`a_cache_that_is_full_stays_as_it_was_until_all_fits_again`); so do keyed ones,
//!     by what is under all keys (`keyed_informers_that_are_full_stay_as_they_were_until_all_fits_again`).
//! 12. **Drift is looked for**: an audit of an [`Informer`] compares with a list, counts what differs, and lists anew ([`Builder::audit`];
//!     `a_lost_change_is_found_and_healed`, `nothing_drifts_while_everything_changes`,
//!     `who_differs_is_asked_for_though_others_differ_always`).
//! 13. **An interest is a guard**: the first begins what is told of a key; when the drop of the last has returned, or it has lingered so long as
//!     [`KeyedBuilder::linger`] says, nothing of it is held, that was told, and what still comes changes nothing
//!     (`interests_are_held_and_let_go_by_one_stream`, `…_by_a_stream_for_each_key`, over TLS `keyed_informers_over_the_wire_…`; loom:
//!     `what_comes_for_a_key_that_was_let_go_changes_nothing`, `an_acquire_beside_the_last_release_is_a_tenure_that_lives`).
//!     Whoever has to act when all under a key is known is told so, in order and once ([`KeyedInformers::completions`];
//!     `who_waits_for_keys_is_told_of_each_when_it_is_complete`).
//! 14. **Whoever lets an ambiguous name rest is told of its end** (`by_a_stream_for_each_key_it_is_known_in_the_end_and_whoever_let_it_rest_is_told`,
//!     in all six orders; loom: `an_ambiguity_ends_with_a_telling`). On one stream no name is ever ambiguous (`by_one_stream_it_is_always_known`).
//! 15. **An object that cannot be read hides no others**: an [`Informer`] counts it, and knows it by name ([`State::unreadable`];
//!     `an_object_that_cannot_be_read_is_kept_as_it_was_until_it_can`). Keyed informers do, too
//!     ([`KeyedState::unreadable`]). One that panics is such an object (`tests/it/panics.rs`, `an_object_that_panics_hides_no_others`).
//! 16. **A set of keys may be larger than a request**, and what a break of the stream costs is what was not known yet
//!     (`ten_times_as_many_keys_as_the_source_takes_at_once_come_to_be_complete`, `what_an_edit_was_to_add_is_all_that_its_break_costs`).
//!     After a restore a key is complete when it has come anew, and is read as it was last known before that
//!     (`what_comes_anew_by_edits_stays_as_it_was_known_and_is_not_complete_before`).
//! 17. **Interests that come and go leave nothing**: no stream, key, name or task (`ten_thousand_interests_that_come_and_go_leave_nothing`,
//!     `interests_that_come_and_go_on_one_stream_leave_nothing`).
//!
//! # What it does not do
//!
//! - It does not tell handlers everything again from time to time. What one wants of that is the audit.
//! - A cache of a source whose versions are not ordered cannot tell an old event from a new one; it takes the source's order.
//! - It has no queue: a handler puts keys into one. It writes nothing.
//! - What a stream of its own for each key tells, it tells in its own time: between two of them an object may be under both keys, or none.
//! - Several informers are not read as of one moment.
//! - A key whose text panics costs itself (`a_key_whose_text_panics_holds_up_no_others`). One that panics where it is compared, hashed or
//!   cloned may end the keyed informers that have it: there is no telling keys apart without that.
//!
//! # Example
//!
//! ```
//! # #[cfg(all(feature = "tokio", feature = "testing"))]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use machinery_informers::testing::{Plane, Thing};
//! use machinery_informers::{Informer, KeyedInformers, Lookup};
//! use machinery_objects::{Capabilities, Event, InterestBy, ListWatch};
//! use std::sync::Arc;
//! use std::time::Duration;
//! use tokio_util::{sync::CancellationToken, task::TaskTracker};
//!
//! let plane = Plane::of_things(Capabilities::ALL);                 // a source for tests; or a handle, or machinery_kube::Remote
//! let source: Arc<dyn ListWatch<Thing>> = Arc::new(plane.clone());
//! let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
//!
//! let mut things = Informer::<Thing>::builder(source.clone());
//! let by_place = things.index(|thing: &Thing| [thing.place.clone()]);
//! let things = things.build();
//! tasks.spawn(things.run(stopping.clone()));
//!
//! let written = plane.put(Thing::new("default/a").at("rack-1"));
//! things.reached(&written, Duration::from_secs(5)).await?;         // what I wrote is in there
//! assert_eq!(things.read().by(&by_place, "rack-1").count(), 1);
//! let handler = things.handle(|event: Event<Arc<Thing>>| println!("{}", event.object().key))?;
//! handler.synced().await?;                                         // late is fine: it was told of what is there
//!
//! let by = InterestBy::Field(Thing::PLACE.into());
//! let racks = KeyedInformers::builder(source, by, |thing: &Thing| Some(thing.place.to_string())).build();
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
mod audit;
#[cfg(feature = "tokio")]
mod cache;
pub mod deliver;
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
pub use informer::{Builder, Counts, Informer, NotReached, State};
#[cfg(machinery_loom)]
#[doc(hidden)]
pub use keyed::Model;
#[cfg(feature = "tokio")]
pub use keyed::{
    Completions, Interest, Key, KeyedBuilder, KeyedCounts, KeyedInformers, KeyedState, NotAcquired, Released,
    Text,
};
pub use lookup::{Lookup, LookupMap, LookupSnapshot};
pub use machinery_snapshot::{Index, Label, Snapshot};
#[cfg(feature = "prometheus")]
pub use metrics::{Metrics, NameTaken};
#[cfg(feature = "tokio")]
pub use reflect::{Limits, Trouble};
