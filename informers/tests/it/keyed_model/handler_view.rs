//! The view of a handler of keyed informers.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinery_informers::deliver::Delivery;
use machinery_informers::testing::TestObject;
use machinery_objects::{Bookmark, Event, LeaveReason, ObjectKey};

/// The objects that a handler knows: its events, applied in order.
#[derive(Default)]
pub(super) struct KeyedHandlerView {
    pub(super) holds: BTreeMap<(String, ObjectKey), Arc<TestObject>>,
    pub(super) released: u64,
    pub(super) left: u64,
    pub(super) deleted: u64,
    /// The last number of a completion mark.
    pub(super) marked: u64,
    pub(super) wrong: Option<String>,
}

impl KeyedHandlerView {
    pub(super) fn apply(&mut self, delivery: Delivery<(String, ObjectKey), Arc<TestObject>>) {
        match delivery {
            Delivery::Event((key, _), event) => self.changed(key, event),
            Delivery::Mark(Bookmark::Complete(number)) => {
                if number.0 < self.marked {
                    self.wrong.get_or_insert(format!("{number:?} was delivered after {}", self.marked));
                }
                self.marked = number.0;
            }
            Delivery::Mark(_) => {}
        }
    }

    fn changed(&mut self, key: String, event: Event<Arc<TestObject>>) {
        let at = (key, event.object().key.clone());
        let was = self.holds.get(&at).cloned();
        let context = format!("{at:?} {event:?}, and before it {was:?}");
        let fits = match event {
            Event::Added { object, .. } => {
                self.holds.insert(at, object);
                was.is_none()
            }
            Event::Updated { old, object } => {
                self.holds.insert(at, object);
                was == Some(old)
            }
            Event::Deleted { .. } => {
                self.deleted += 1;
                self.holds.remove(&at).is_some()
            }
            Event::Left { because, .. } => {
                match because {
                    LeaveReason::Released => self.released += 1,
                    LeaveReason::Changed => self.left += 1,
                }
                self.holds.remove(&at).is_some()
            }
            _ => false,
        };
        if !fits {
            self.wrong.get_or_insert(context);
        }
    }
}
