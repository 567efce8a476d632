//! The handlers of the model.

use std::sync::Arc;
use std::time::Duration;

use machinery_informers::Informer;
use machinery_informers::deliver::{Delivery, Events, Registration};
use machinery_informers::testing::TestObject;
use machinery_objects::{Bookmark, Event, Object, ObjectKey};
use machinery_sync::Mutex;
use tokio::time::sleep;
use tokio_util::task::TaskTracker;

use super::history::TestObjects;

/// A handler that applies its events and checks that each follows from its state.
pub(super) struct TestHandler {
    kind: HandlerKind,
    pub(super) state: Arc<Mutex<HandlerState>>,
}

enum HandlerKind {
    Called(Registration),
    Pulls(tokio_util::sync::CancellationToken),
}

#[derive(Default)]
pub(super) struct HandlerState {
    pub(super) things: TestObjects,
    pub(super) synced: bool,
    /// Its queue was empty at its last look, and it is not busy.
    idle: bool,
    pub(super) counts: EventCounts,
    ordered: bool,
}

/// The number of events of each sort.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EventCounts {
    pub(super) added: u64,
    pub(super) updated: u64,
    pub(super) another: u64,
    pub(super) deleted: u64,
    pub(super) vanished: u64,
    pub(super) left: u64,
}

impl TestHandler {
    pub(super) fn called(informer: &Informer<TestObject>, ordered: bool) -> Self {
        let state = Arc::new(Mutex::new(HandlerState { idle: true, ordered, ..HandlerState::default() }));
        let recorder = state.clone();
        let registration = informer.add_handler(move |event| recorder.lock().apply(event)).unwrap();
        Self { kind: HandlerKind::Called(registration), state }
    }

    /// Returns a handler that takes this long for each event.
    pub(super) fn slow(
        informer: &Informer<TestObject>,
        ordered: bool,
        tasks: &TaskTracker,
        delay: Duration,
    ) -> Self {
        let state = Arc::new(Mutex::new(HandlerState { ordered, ..HandlerState::default() }));
        let gone = tokio_util::sync::CancellationToken::new();
        let (recorder, until) = (state.clone(), gone.clone());
        let events = informer.events().unwrap();
        tasks.spawn(async move {
            tokio::select! {
                biased;
                () = until.cancelled() => {}
                () = pull(events, &recorder, delay) => {}
            }
        });
        Self { kind: HandlerKind::Pulls(gone), state }
    }

    /// Returns whether the handler's queue is empty.
    pub(super) fn is_idle(&self) -> bool {
        match &self.kind {
            HandlerKind::Called(registration) => registration.lag().due == 0,
            HandlerKind::Pulls(_) => self.state.lock().idle,
        }
    }

    /// Returns whether the handler is synced.
    pub(super) fn is_synced(&self) -> bool {
        match &self.kind {
            HandlerKind::Called(registration) => registration.is_synced(),
            HandlerKind::Pulls(_) => self.state.lock().synced,
        }
    }

    /// Removes the handler.
    pub(super) async fn remove(self) -> EventCounts {
        match self.kind {
            HandlerKind::Called(registration) => registration.remove().await,
            HandlerKind::Pulls(gone) => gone.cancel(),
        }
        self.state.lock().counts
    }
}

async fn pull(mut events: Events<ObjectKey, Arc<TestObject>>, state: &Mutex<HandlerState>, delay: Duration) {
    loop {
        let due = events.lag(tokio::time::Instant::now().into_std()).due;
        state.lock().idle = due == 0;
        let Some(delivery) = events.next().await else { return };
        state.lock().idle = false;
        match delivery {
            Delivery::Event(_, event) => {
                // A pulled event is applied when the handler pulls the next one.
                state.lock().apply(event);
                sleep(delay).await;
            }
            Delivery::Mark(mark) => state.lock().synced |= mark == Bookmark::Synced,
        }
    }
}

impl HandlerState {
    fn apply(&mut self, event: Event<Arc<TestObject>>) {
        let key = event.object().key();
        let there = self.things.remove(&key);
        match event {
            Event::Added { object, .. } => {
                assert!(there.is_none(), "{key} was there already");
                self.counts.added += 1;
                self.things.insert(key, object);
            }
            Event::Updated { old, object } => {
                assert!(there.is_some_and(|there| Arc::ptr_eq(&there, &old)), "{key} was another");
                // The versions may be equal: an object may be missing in an old list and present in
                // a newer one.
                assert!(!self.ordered || old.version < object.version, "{key} went back");
                self.counts.updated += 1;
                self.counts.another += u64::from(old.uid != object.uid);
                self.things.insert(key, object);
            }
            Event::Deleted { last, final_state_known } => {
                let there = there.unwrap_or_else(|| panic!("{key} was not there"));
                assert!(!self.ordered || last.version >= there.version, "{key} went back");
                self.counts.deleted += 1;
                self.counts.vanished += u64::from(!final_state_known);
            }
            Event::Left { .. } => {
                assert!(there.is_some(), "{key} was not there");
                self.counts.left += 1;
            }
            event => panic!("unexpected {event:?}"),
        }
    }

    /// After a restore versions go back.
    pub(super) const fn forget_order(&mut self) {
        self.ordered = false;
    }
}
