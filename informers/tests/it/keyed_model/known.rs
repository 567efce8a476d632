//! What a handler knows.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinery_informers::deliver::Told;
use machinery_informers::testing::Thing;
use machinery_objects::{Departure, Event, Mark, ObjectKey};

/// What a handler knows: what it was told, applied in order.
#[derive(Default)]
pub(super) struct Known {
    pub(super) holds: BTreeMap<(String, ObjectKey), Arc<Thing>>,
    pub(super) released: u64,
    pub(super) left: u64,
    pub(super) deleted: u64,
    /// With the last number of which keys are complete.
    pub(super) marked: u64,
    pub(super) wrong: Option<String>,
}

impl Known {
    pub(super) fn told(&mut self, told: Told<(String, ObjectKey), Arc<Thing>>) {
        match told {
            Told::Event((key, _), event) => self.changed(key, event),
            Told::Mark(Mark::Complete(number)) => {
                if number.0 < self.marked {
                    self.wrong.get_or_insert(format!("{number:?} was told after {}", self.marked));
                }
                self.marked = number.0;
            }
            Told::Mark(_) => {}
        }
    }

    fn changed(&mut self, key: String, event: Event<Arc<Thing>>) {
        let at = (key, event.object().key.clone());
        let was = self.holds.get(&at).cloned();
        let said = format!("{at:?} {event:?}, and before it {was:?}");
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
                    Departure::Released => self.released += 1,
                    Departure::Changed => self.left += 1,
                }
                self.holds.remove(&at).is_some()
            }
            _ => false,
        };
        if !fits {
            self.wrong.get_or_insert(said);
        }
    }
}
