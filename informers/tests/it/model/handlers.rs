//! Those who are told, and what they make of it.

use std::sync::Arc;
use std::time::Duration;

use machinery_informers::Informer;
use machinery_informers::deliver::{Events, Registration, Told};
use machinery_informers::testing::Thing;
use machinery_objects::{Event, Mark, Object, ObjectKey};
use machinery_sync::Mutex;
use tokio::time::sleep;
use tokio_util::task::TaskTracker;

use super::truth::Things;

/// One who applies all that it is told, and complains if that does not fit.
pub(super) struct Hearer {
    how: How,
    pub(super) seen: Arc<Mutex<Seen>>,
}

enum How {
    Called(Registration),
    Pulls(tokio_util::sync::CancellationToken),
}

#[derive(Default)]
pub(super) struct Seen {
    pub(super) things: Things,
    pub(super) synced: bool,
    /// It has been told all that was due when it last asked, and is not busy.
    idle: bool,
    pub(super) heard: Tally,
    ordered: bool,
}

/// What was heard of each sort.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) added: u64,
    pub(super) updated: u64,
    pub(super) another: u64,
    pub(super) deleted: u64,
    pub(super) vanished: u64,
    pub(super) left: u64,
}

impl Hearer {
    pub(super) fn called(informer: &Informer<Thing>, ordered: bool) -> Self {
        let seen = Arc::new(Mutex::new(Seen { idle: true, ordered, ..Seen::default() }));
        let hears = seen.clone();
        let registration = informer.handle(move |event| hears.lock().hear(event)).unwrap();
        Self { how: How::Called(registration), seen }
    }

    /// One that takes so long for each event.
    pub(super) fn slow(
        informer: &Informer<Thing>,
        ordered: bool,
        tasks: &TaskTracker,
        delay: Duration,
    ) -> Self {
        let seen = Arc::new(Mutex::new(Seen { ordered, ..Seen::default() }));
        let gone = tokio_util::sync::CancellationToken::new();
        let (hears, until) = (seen.clone(), gone.clone());
        let events = informer.events().unwrap();
        tasks.spawn(async move {
            tokio::select! {
                biased;
                () = until.cancelled() => {}
                () = pull(events, &hears, delay) => {}
            }
        });
        Self { how: How::Pulls(gone), seen }
    }

    /// Nothing is due to it.
    pub(super) fn is_idle(&self) -> bool {
        match &self.how {
            How::Called(registration) => registration.lag().due == 0,
            How::Pulls(_) => self.seen.lock().idle,
        }
    }

    /// It was told that it knows all that was there at the beginning.
    pub(super) fn is_synced(&self) -> bool {
        match &self.how {
            How::Called(registration) => registration.is_synced(),
            How::Pulls(_) => self.seen.lock().synced,
        }
    }

    /// Removes it; from here on it hears nothing.
    pub(super) async fn go(self) -> Tally {
        match self.how {
            How::Called(registration) => registration.remove().await,
            How::Pulls(gone) => gone.cancel(),
        }
        self.seen.lock().heard
    }
}

async fn pull(mut events: Events<ObjectKey, Arc<Thing>>, seen: &Mutex<Seen>, delay: Duration) {
    loop {
        let due = events.lag(tokio::time::Instant::now().into_std()).due;
        seen.lock().idle = due == 0;
        let Some(told) = events.next().await else { return };
        seen.lock().idle = false;
        match told {
            Told::Event(_, event) => {
                // What is told is told when it is asked for, and kept until the next time.
                seen.lock().hear(event);
                sleep(delay).await;
            }
            Told::Mark(mark) => seen.lock().synced |= mark == Mark::Synced,
        }
    }
}

impl Seen {
    fn hear(&mut self, event: Event<Arc<Thing>>) {
        let key = event.object().key();
        let there = self.things.remove(&key);
        match event {
            Event::Added { object, .. } => {
                assert!(there.is_none(), "{key} was there already");
                self.heard.added += 1;
                self.things.insert(key, object);
            }
            Event::Updated { old, object } => {
                assert!(there.is_some_and(|there| Arc::ptr_eq(&there, &old)), "{key} was another");
                // It may be the same: out of an old list and back in a newer one, before that was told.
                assert!(!self.ordered || old.version < object.version, "{key} went back");
                self.heard.updated += 1;
                self.heard.another += u64::from(old.uid != object.uid);
                self.things.insert(key, object);
            }
            Event::Deleted { last, final_state_known } => {
                let there = there.unwrap_or_else(|| panic!("{key} was not there"));
                assert!(!self.ordered || last.version >= there.version, "{key} went back");
                self.heard.deleted += 1;
                self.heard.vanished += u64::from(!final_state_known);
            }
            Event::Left { .. } => {
                assert!(there.is_some(), "{key} was not there");
                self.heard.left += 1;
            }
            event => panic!("what is {event:?}?"),
        }
    }

    /// After a restore versions go back.
    pub(super) const fn forget_order(&mut self) {
        self.ordered = false;
    }
}
