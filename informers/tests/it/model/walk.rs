//! The operations of the model.

use std::time::Duration;

use machinery_informers::testing::{Fault, OnEvent, OnList, OnWatch, TestObject};
use machinery_objects::{Capabilities, ListError, SourceError, WatchError};
use proptest::prelude::*;

use crate::support::{LISTS, too_many, unavailable};

#[derive(Clone, Debug)]
pub(super) enum ModelOp {
    Put {
        key: usize,
        place: usize,
        app: usize,
        readable: bool,
    },
    Delete {
        key: usize,
    },
    Compact,
    Bookmark,
    EndWatches,
    /// Seconds pass.
    Pass(u64),
    Fault(Fault),
    /// Adds a handler: one that is called, or one that takes this many seconds per event.
    AddHandler(Option<u64>),
    RemoveHandler(usize),
    Relist,
    Restore(u64),
}

/// The parameters of a case.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) can: Capabilities,
    /// Selects `app=0`.
    pub(super) labels: bool,
    /// Selects place `0`.
    pub(super) place: bool,
    /// Limits the cache to [`FEW`] objects.
    pub(super) few: bool,
}

/// Fewer than there are keys.
pub(super) const FEW: usize = 3;

pub(super) const KEYS: [&str; 5] = ["a/x", "a/y", "b/x", "c", "d"];

/// Returns the object of an operation.
pub(super) fn thing(key: usize, place: usize, app: usize, number: usize) -> TestObject {
    let thing = TestObject::new(KEYS[key]).at(&place.to_string()).with_text(&number.to_string());
    thing.labeled("app", &app.to_string())
}

pub(super) fn settings() -> impl Strategy<Value = Setting> {
    let mut without_left = Capabilities::ALL;
    without_left.reports_left = false;
    let mut unordered = Capabilities::ALL;
    unordered.versions_are_ordered = false;
    let mut without_bookmarks = LISTS;
    without_bookmarks.bookmarks = false;
    let can = prop_oneof![
        4 => Just(Capabilities::ALL),
        3 => Just(LISTS),
        1 => Just(without_left),
        1 => Just(unordered),
        1 => Just(without_bookmarks),
        1 => Just(Capabilities::LEAST),
    ];
    (can, any::<[bool; 2]>(), prop::bool::weighted(0.2)).prop_map(|(can, [labels, place], few)| Setting {
        can,
        labels,
        place,
        few,
    })
}

pub(super) fn walks(ordered: bool) -> impl Strategy<Value = Vec<ModelOp>> {
    proptest::collection::vec(ops(ordered), 4..40)
}

fn ops(ordered: bool) -> impl Strategy<Value = ModelOp> {
    let put = (0..KEYS.len(), 0..2_usize, 0..2_usize, prop::bool::weighted(0.9));
    prop_oneof![
        14 => put.prop_map(|(key, place, app, readable)| ModelOp::Put { key, place, app, readable }),
        6 => (0..KEYS.len()).prop_map(|key| ModelOp::Delete { key }),
        2 => Just(ModelOp::Compact),
        2 => Just(ModelOp::Bookmark),
        2 => Just(ModelOp::EndWatches),
        4 => prop_oneof![0..3_u64, 3..40_u64, 60..500_u64].prop_map(ModelOp::Pass),
        12 => faults(ordered).prop_map(ModelOp::Fault),
        2 => prop_oneof![Just(None), (0..20_u64).prop_map(Some)].prop_map(ModelOp::AddHandler),
        1 => (0..4_usize).prop_map(ModelOp::RemoveHandler),
        1 => Just(ModelOp::Relist),
        1 => (1..12_u64).prop_map(ModelOp::Restore),
    ]
}

fn faults(ordered: bool) -> impl Strategy<Value = Fault> {
    let list = || {
        prop_oneof![
            Just(OnList::Fails(ListError::Expired { rest: None })),
            Just(OnList::Fails(too_many(20).into())),
            Just(OnList::Fails(unavailable().into())),
            Just(OnList::NoAnswer),
            (1..6_u64).prop_map(OnList::Behind),
            Just(OnList::Empty),
            Just(OnList::Endless),
        ]
    };
    let watch = prop_oneof![
        Just(OnWatch::Fails(WatchError::Expired)),
        Just(OnWatch::Fails(too_many(20).into())),
        Just(OnWatch::Fails(unavailable().into())),
        Just(OnWatch::Fails(SourceError::Unsupported { what: "state" }.into())),
        Just(OnWatch::NoAnswer),
        (1..6_u64).prop_map(OnWatch::Behind),
        Just(OnWatch::EndsAtOnce),
        Just(OnWatch::NoEnd),
        Just(OnWatch::EndTwice),
    ];
    // Where versions are not ordered, a repeated old event is taken for a new one.
    let again = move |fault| if ordered { fault } else { OnEvent::Twice };
    let event = prop_oneof![
        1 => Just(OnEvent::Fails(WatchError::Expired)),
        1 => Just(OnEvent::Fails(unavailable().into())),
        1 => Just(OnEvent::Fails(WatchError::TooSlow)),
        1 => Just(OnEvent::Ends),
        1 => Just(OnEvent::Silent),
        1 => Just(OnEvent::Twice),
        2 => Just(again(OnEvent::EarlierAgain)),
        1 => (1..6_u64).prop_map(move |late| again(OnEvent::LateBookmark(late))),
    ];
    prop_oneof![
        2 => list().prop_map(Fault::List),
        2 => list().prop_map(Fault::Page),
        3 => watch.prop_map(Fault::Watch),
        5 => event.prop_map(Fault::Event),
    ]
}

/// Upper bound of the recovery time of a case: the longest `Retry-After`, an accepted restore and a
/// silent watch, one after the other.
pub(super) const RECOVERS: Duration = Duration::from_secs(1200);
