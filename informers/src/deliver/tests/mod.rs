//! What handlers hear, against what a cache said.

mod handlers;
mod inbox;
mod model;

use super::{Change, Gone, News, Told};
use machinery_objects::{Departure, Event};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// A key and a state of a test: who it is told, it is told in order.
type Key = Arc<str>;
type State = u32;

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

const DELETED: Gone = Gone::Deleted { final_state_known: true };
const MISSED: Gone = Gone::Deleted { final_state_known: false };
const LEFT: Gone = Gone::Left(Departure::Changed);

/// A cache that says what changes.
#[derive(Debug, Default)]
struct Cache(BTreeMap<Key, State>);

impl Cache {
    fn set(&mut self, key: &str, object: State, initial: bool) -> News<Key, State> {
        let before = self.0.insert(key.into(), object);
        News { key: key.into(), before, change: Change::Now { object, initial } }
    }

    /// Of a key that is not there it says that it goes once more.
    fn end(&mut self, key: &str, why: Gone) -> News<Key, State> {
        let before = self.0.remove(key);
        News { key: key.into(), before, change: Change::Gone { last: before.unwrap_or_default(), why } }
    }
}

/// What a handler knows by what it was told, which must follow from what it knew.
#[derive(Debug, Default)]
struct Known {
    objects: BTreeMap<Key, State>,
    marks: Vec<machinery_objects::Mark>,
}

impl Known {
    fn hear(&mut self, told: Told<Key, State>) {
        match told {
            Told::Event(key, Event::Added { object, .. }) => {
                assert_eq!(self.objects.insert(key, object), None, "it was added twice");
            }
            Told::Event(key, Event::Updated { old, object }) => {
                let known = self.objects.insert(key, object);
                assert_eq!(known, Some(old), "an update leads from what was told last");
                assert!(object >= old, "nothing goes back");
            }
            Told::Event(key, Event::Deleted { last, .. } | Event::Left { last, .. }) => {
                let known = self.objects.remove(&key).expect("what goes was known");
                assert!(last >= known, "nothing goes back");
            }
            Told::Event(_, event) => panic!("what is {event:?}?"),
            Told::Mark(mark) => self.marks.push(mark),
        }
    }
}
