//! Tests of delivery: the events of handlers against the changes of a cache.

mod handlers;
mod model;
mod queue;

use super::{Change, Delivery, Notification, Removal};
use machinery_objects::{Event, LeaveReason};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// A key and a state; the states of a key increase.
type TestKey = Arc<str>;
type State = u32;

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

const DELETED: Removal = Removal::Deleted { final_state_known: true };
const MISSED: Removal = Removal::Deleted { final_state_known: false };
const LEFT: Removal = Removal::Left(LeaveReason::Changed);

/// A cache that returns its changes.
#[derive(Debug, Default)]
struct TestCache(BTreeMap<TestKey, State>);

impl TestCache {
    fn set(&mut self, key: &str, object: State, initial: bool) -> Notification<TestKey, State> {
        let before = self.0.insert(key.into(), object);
        Notification { key: key.into(), before, change: Change::Present { object, initial } }
    }

    /// Removes a key; of a missing one it returns another removal.
    fn end(&mut self, key: &str, removal: Removal) -> Notification<TestKey, State> {
        let before = self.0.remove(key);
        Notification {
            key: key.into(),
            before,
            change: Change::Removed { last: before.unwrap_or_default(), removal },
        }
    }
}

/// The state that a handler derives from its events, each of which must follow from it.
#[derive(Debug, Default)]
struct HandlerView {
    objects: BTreeMap<TestKey, State>,
    marks: Vec<machinery_objects::Bookmark>,
}

impl HandlerView {
    fn apply(&mut self, delivery: Delivery<TestKey, State>) {
        match delivery {
            Delivery::Event(key, Event::Added { object, .. }) => {
                assert_eq!(self.objects.insert(key, object), None, "it was added twice");
            }
            Delivery::Event(key, Event::Updated { old, object }) => {
                let known = self.objects.insert(key, object);
                assert_eq!(known, Some(old), "an update starts from the last delivered state");
                assert!(object >= old, "nothing goes back");
            }
            Delivery::Event(key, Event::Deleted { last, .. } | Event::Left { last, .. }) => {
                let known = self.objects.remove(&key).expect("a removed object was known");
                assert!(last >= known, "nothing goes back");
            }
            Delivery::Event(_, event) => panic!("unexpected {event:?}"),
            Delivery::Mark(mark) => self.marks.push(mark),
        }
    }
}
