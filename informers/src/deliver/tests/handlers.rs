//! Handlers that are slow, late, panicking, removed or cancelled.

use super::{DELETED, HandlerView, MISSED, State, TestCache, TestKey, now};
use crate::deliver::{Change, Closed, Delivery, Events, Hub, Notification, Registration, spawn};
use futures::FutureExt;
use machinery_objects::{Bookmark, Event, Revision};
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A cache with handlers.
struct TestHub {
    hub: Hub<TestKey, State>,
    cache: TestCache,
    tasks: TaskTracker,
    stopping: CancellationToken,
}

impl TestHub {
    /// Returns a synced cache without objects.
    fn new() -> Self {
        let cache = Self::before_the_sync();
        cache.mark(&Bookmark::Synced);
        cache
    }

    fn before_the_sync() -> Self {
        let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
        Self { hub: Hub::new(1), cache: TestCache::default(), tasks, stopping }
    }

    fn say(&self, notifications: Notification<TestKey, State>) {
        self.hub.publishing().publish(now(), &[notifications]);
    }

    fn set(&mut self, key: &str, object: State) {
        let notifications = self.cache.set(key, object, false);
        self.say(notifications);
    }

    fn delete(&mut self, key: &str) {
        let notifications = self.cache.end(key, DELETED);
        self.say(notifications);
    }

    fn mark(&self, mark: &Bookmark) {
        self.hub.publishing().mark(mark);
    }

    fn try_events(&self) -> Result<Events<TestKey, State>, Closed> {
        let all = &self.cache.0;
        self.hub.register(
            now(),
            || all,
            |all, sender| all.iter().for_each(|(key, object)| sender(key, object)),
        )
    }

    fn events(&self) -> Events<TestKey, State> {
        self.try_events().expect("it is open")
    }

    fn handle(&self, handle: impl FnMut(Delivery<TestKey, State>) + Send + 'static) -> Registration {
        spawn(self.events(), &self.tasks, self.stopping.clone(), handle)
    }

    /// Waits until every handler has ended.
    async fn ended(self) {
        self.tasks.close();
        within(self.tasks.wait()).await;
    }
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("it takes no time to speak of")
}

/// Takes the queued deliveries.
fn due(events: &mut Events<TestKey, State>) -> Vec<Delivery<TestKey, State>> {
    std::iter::from_fn(|| events.next().now_or_never().flatten()).collect()
}

fn added(key: &str, object: State, initial: bool) -> Delivery<TestKey, State> {
    Delivery::Event(key.into(), Event::Added { object, initial })
}

fn deleted(key: &str, last: State) -> Delivery<TestKey, State> {
    Delivery::Event(key.into(), Event::Deleted { last, final_state_known: true })
}

const SYNCED: Delivery<TestKey, State> = Delivery::Mark(Bookmark::Synced);

/// A handler that blocks in its call until released.
struct Stuck {
    registration: Registration,
    calls: Arc<AtomicUsize>,
    let_go: mpsc::Sender<()>,
}

impl Stuck {
    /// Returns once the call is running.
    async fn new(cache: &TestHub) -> Self {
        let calls = Arc::new(AtomicUsize::new(0));
        let (let_go, held) = mpsc::channel();
        let (begin, mut begun) = tokio::sync::mpsc::unbounded_channel();
        let counted = calls.clone();
        let registration = cache.handle(move |_| {
            counted.fetch_add(1, SeqCst);
            let _ = begin.send(());
            let _ = held.recv();
        });
        within(begun.recv()).await.expect("it is called");
        Self { registration, calls, let_go }
    }
}

/// kubernetes/kubernetes#137314, #121474: a handler that does not keep up takes all memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_handler_queues_one_entry_per_key_and_blocks_no_other() {
    let mut cache = TestHub::new();
    let mut quick = cache.events();
    let slow = Stuck::new(&cache).await;
    let mut known = HandlerView::default();
    for object in 0..100_000 {
        cache.set(&format!("k{}", object % 10), object);
        due(&mut quick).into_iter().for_each(|delivery| known.apply(delivery));
        assert_eq!(known.objects, cache.cache.0, "the other handler receives it at once");
    }
    let later = now() + Duration::from_secs(60);
    let lag = slow.registration.lag_at(later);
    assert_eq!(lag.due, 10);
    assert!(lag.waiting >= Duration::from_secs(60), "{lag:?}");
    drop(slow.let_go);
    let calls = slow.calls;
    cache.hub.close();
    cache.ended().await;
    assert_eq!(calls.load(SeqCst), 1 + 10, "the call that was running, and one for each key");
}

#[tokio::test]
async fn a_removed_handler_is_dropped_at_the_next_change() {
    let mut cache = TestHub::new();
    let events = cache.events();
    drop(cache.events());
    cache.set("a", 1);
    assert!(cache.hub.publishing().has_handlers());
    drop(events);
    cache.set("a", 2);
    assert!(!cache.hub.publishing().has_handlers());
}

/// kube-rs/kube#1630: a late subscriber never receives the existing objects.
#[tokio::test]
async fn a_late_handler_first_receives_the_cached_objects() {
    let mut cache = TestHub::new();
    cache.set("a", 1);
    cache.set("b", 2);
    let mut late = cache.events();
    cache.set("b", 3);
    cache.delete("a");
    cache.set("c", 4);
    // An object deleted while queued is not delivered; the others are delivered in their current
    // state.
    assert_eq!(due(&mut late), [added("b", 3, true), SYNCED, added("c", 4, false)]);
    let mut later = cache.events();
    assert_eq!(due(&mut later), [added("b", 3, true), added("c", 4, true), SYNCED]);
}

#[tokio::test]
async fn changes_during_the_initial_snapshot_follow_it() {
    let mut cache = TestHub::new();
    for (key, object) in [("a", 1), ("b", 2), ("c", 3)] {
        cache.set(key, object);
    }
    let began = cache.cache.0.clone();
    let changes =
        [cache.cache.end("a", DELETED), cache.cache.set("b", 4, false), cache.cache.set("d", 5, false)];
    let list = |began: &BTreeMap<TestKey, State>, sender: &mut dyn FnMut(&TestKey, &State)| {
        // A registration that is still reading its snapshot blocks no change.
        cache.hub.publishing().publish(now(), &changes);
        began.iter().for_each(|(key, object)| sender(key, object));
    };
    let mut events = cache.hub.register(now(), || began, list).expect("it is open");
    assert_eq!(due(&mut events), [added("b", 4, true), added("c", 3, true), SYNCED, added("d", 5, false)]);
}

/// kube-rs/kube#1590: shared subscribers receive no deletions; here also those found by a list.
#[tokio::test]
async fn every_handler_receives_a_deletion_with_its_last_state() {
    let mut cache = TestHub::new();
    cache.set("a", 1);
    cache.set("b", 2);
    let mut all = [cache.events(), cache.events(), cache.events()];
    for events in &mut all {
        assert_eq!(due(events).len(), 3);
    }
    cache.delete("a");
    let missing = cache.cache.end("b", MISSED);
    cache.say(missing);
    for events in &mut all {
        let gone = Delivery::Event("b".into(), Event::Deleted { last: 2, final_state_known: false });
        assert_eq!(due(events), [deleted("a", 1), gone]);
    }
}

/// A `ReflectHandle` of kube-rs that is woken for an object which has left the store is never woken
/// again.
#[tokio::test]
async fn a_wakeup_for_a_vanished_object_loses_no_later_one() {
    let mut cache = TestHub::new();
    let mut events = cache.events();
    let received = cache.tasks.spawn(async move {
        let mut received = Vec::new();
        while let Some(delivery) = events.next().await {
            received.push(delivery);
        }
        received
    });
    tokio::task::yield_now().await;
    cache.set("foo", 1);
    cache.delete("foo");
    tokio::task::yield_now().await;
    for object in 0..30 {
        cache.set("bar", object);
        tokio::task::yield_now().await;
    }
    cache.hub.close();
    let received = within(received).await.expect("it did not panic");
    assert_eq!(received.first(), Some(&SYNCED));
    assert_eq!(received.len(), 1 + 30, "each is delivered while it exists: {received:?}");
}

/// client-go by default ends the process when a handler panics; otherwise the handler sleeps for a
/// second.
#[tokio::test]
async fn a_panicking_call_loses_only_its_event() {
    let mut cache = TestHub::new();
    let (sender, mut received) = tokio::sync::mpsc::unbounded_channel();
    let handler = cache.handle(move |delivery| {
        assert!(!matches!(&delivery, Delivery::Event(key, _) if **key == *"bad"), "on purpose");
        sender.send(delivery).expect("there is a handler");
    });
    for (key, object) in [("a", 1), ("bad", 2), ("b", 3)] {
        cache.set(key, object);
    }
    for expected in [SYNCED, added("a", 1, false), added("b", 3, false)] {
        assert_eq!(within(received.recv()).await, Some(expected));
    }
    assert_eq!(handler.lag().panics, 1);
    assert_eq!(within(handler.synced()).await, Ok(()));
}

/// `RemoveEventHandler` of client-go returns while queued events are still handled.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn removal_waits_for_the_running_call_and_starts_no_other() {
    let mut cache = TestHub::new();
    let Stuck { registration, calls, let_go } = Stuck::new(&cache).await;
    cache.set("a", 1);
    let mut removal = Box::pin(registration.remove());
    assert_eq!((&mut removal).now_or_never(), None, "the call is running");
    assert_eq!(registration.lag().due, 0, "queued objects are dropped at once");
    cache.set("b", 2);
    let_go.send(()).expect("the call is running");
    within(removal).await;
    within(registration.remove()).await;
    cache.ended().await;
    assert_eq!(calls.load(SeqCst), 1);
}

#[test]
fn removal_completes_with_the_call_not_with_the_task() {
    let mut cache = TestHub::new();
    for object in 0..100 {
        cache.set(&object.to_string(), object);
    }
    let own = Arc::new(OnceLock::<Registration>::new());
    let (sender, delivery) = mpsc::channel();
    let (itself, mut calls) = (own.clone(), 0);
    let (registration, running) = cache.events().each(move |_| {
        calls += 1;
        // After this call the handler yields.
        if calls < 64 {
            return;
        }
        let mut removal = Box::pin(itself.get().expect("it was put there first").remove());
        let (begin, begun) = mpsc::channel();
        let sender = sender.clone();
        std::thread::spawn(move || {
            assert_eq!((&mut removal).now_or_never(), None, "the call is running");
            begin.send(()).expect("the call waits for it");
            futures::executor::block_on(removal);
            sender.send(()).expect("the test waits for it");
        });
        begun.recv().expect("the thread says so");
    });
    own.set(registration).expect("nobody else did");
    let mut running = Box::pin(running);
    assert_eq!((&mut running).now_or_never(), None);
    delivery.recv_timeout(Duration::from_secs(20)).expect("the handler is driven no more, and removed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn removal_needs_no_await() {
    for how in ["an unpolled future", "a polled future", "a drop"] {
        let mut cache = TestHub::new();
        let stuck = Stuck::new(&cache).await;
        cache.set("a", 1);
        match how {
            "a drop" => drop(stuck.registration),
            "a polled future" => assert_eq!(stuck.registration.remove().now_or_never(), None),
            _ => drop(stuck.registration.remove()),
        }
        drop(stuck.let_go);
        assert_eq!(cache.hub.len(), 0, "{how}");
        cache.ended().await;
        assert_eq!(stuck.calls.load(SeqCst), 1, "{how}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_can_remove_itself_in_its_own_call() {
    let mut cache = TestHub::new();
    let own = Arc::new(OnceLock::<Registration>::new());
    let calls = Arc::new(AtomicUsize::new(0));
    let (counted, itself) = (calls.clone(), own.clone());
    let events = cache.events();
    let (registration, running) = events.each(move |_| {
        counted.fetch_add(1, SeqCst);
        let registration = itself.get().expect("it was put there first");
        futures::executor::block_on(registration.remove());
    });
    own.set(registration).expect("nobody else did");
    cache.set("a", 1);
    within(cache.tasks.spawn(running)).await.expect("it ends");
    assert_eq!(calls.load(SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_can_add_and_remove_handlers_and_change_the_cache() {
    let cache = TestHub::new();
    let (hub, other) = (Arc::new(cache.hub), Arc::new(AtomicBool::new(false)));
    let list = |(): &(), _: &mut dyn FnMut(&TestKey, &State)| ();
    let (busy, called) = (hub.clone(), other.clone());
    let events = hub.register(now(), || (), list).expect("it is open");
    let (registration, running) = events.each(move |delivery| {
        if delivery == SYNCED {
            drop(busy.register(now(), || (), list));
            let notifications = TestCache::default().set("a", 1, false);
            busy.publishing().publish(now(), &[notifications]);
        } else {
            called.store(true, SeqCst);
            busy.close();
        }
    });
    within(cache.tasks.spawn(running)).await.expect("it ends");
    assert!(other.load(SeqCst));
    drop(registration);
}

#[tokio::test]
async fn a_closed_hub_delivers_queued_events_and_accepts_no_handler() {
    let mut cache = TestHub::new();
    cache.set("a", 1);
    let mut events = cache.events();
    let (sender, mut received) = tokio::sync::mpsc::unbounded_channel();
    let handler = cache.handle(move |delivery| drop(sender.send(delivery)));
    cache.set("a", 2);
    cache.hub.close();
    cache.set("b", 3);
    assert_eq!(due(&mut events)[..2], [added("a", 2, true), SYNCED]);
    assert_eq!(events.next().await, None);
    assert_eq!(cache.try_events().err(), Some(Closed));
    cache.ended().await;
    assert_eq!(received.recv().await, Some(added("a", 2, true)));
    assert_eq!(within(handler.synced()).await, Ok(()), "it was, before the end");
    within(handler.remove()).await;
}

#[tokio::test]
async fn a_cancelled_handler_finishes_its_current_call() {
    let mut cache = TestHub::new();
    let stopping = cache.stopping.clone();
    let handler = cache.handle(move |_| stopping.cancel());
    for object in 0..100_000 {
        cache.set(&object.to_string(), object);
    }
    cache.ended().await;
    assert_eq!(handler.lag().due, 0);
    within(handler.remove()).await;
}

#[tokio::test]
async fn a_detached_handler_is_called_until_the_hub_closes() {
    let mut cache = TestHub::new();
    let (sender, mut received) = tokio::sync::mpsc::unbounded_channel();
    cache.handle(move |delivery| drop(sender.send(delivery))).detach();
    cache.set("a", 1);
    for expected in [SYNCED, added("a", 1, false)] {
        assert_eq!(within(received.recv()).await, Some(expected));
    }
    cache.hub.close();
    cache.ended().await;
    assert_eq!(received.recv().await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_is_synced_after_handling_the_initial_objects() {
    let mut cache = TestHub::new();
    cache.set("a", 1);
    let stuck = Stuck::new(&cache).await;
    assert!(!stuck.registration.is_synced());
    assert_eq!(stuck.registration.synced().now_or_never(), None);
    stuck.let_go.send(()).expect("it is at the object");
    stuck.let_go.send(()).expect("it receives the mark");
    assert_eq!(within(stuck.registration.synced()).await, Ok(()));
    drop(stuck.let_go);
}

#[tokio::test]
async fn a_handler_removed_before_its_sync_never_syncs() {
    let cache = TestHub::new();
    let handler = cache.handle(|_| ());
    let (synced, removal) = (handler.synced(), handler.remove());
    assert_eq!(within(synced).await, Err(Closed));
    within(removal).await;
}

#[tokio::test]
async fn a_handler_added_before_the_cache_sync_syncs_with_it_once() {
    let mut cache = TestHub::before_the_sync();
    let mut early = cache.events();
    assert_eq!(due(&mut early), []);
    let notifications = cache.cache.set("a", 1, true);
    cache.say(notifications);
    cache.mark(&Bookmark::Synced);
    let mut late = cache.events();
    cache.mark(&Bookmark::Synced);
    cache.mark(&Bookmark::Progress(Revision(7).into()));
    let progress = Delivery::Mark(Bookmark::Progress(Revision(7).into()));
    for events in [&mut early, &mut late] {
        assert!(!events.is_synced());
        assert_eq!(due(events), [added("a", 1, true), SYNCED, progress.clone()]);
        assert!(events.is_synced());
    }
}

#[tokio::test]
async fn a_handler_with_a_long_queue_yields() {
    let mut cache = TestHub::new();
    for object in 0..10_000 {
        cache.set(&object.to_string(), object);
    }
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let handler = cache.handle(move |_| {
        counted.fetch_add(1, SeqCst);
    });
    let seen = calls.clone();
    let other = cache.tasks.spawn(async move { seen.load(SeqCst) });
    let calls_before = within(other).await.expect("it did not panic");
    assert!((1..5_000).contains(&calls_before), "{calls_before} calls come first");
    within(handler.synced()).await.expect("it goes on");
    assert_eq!(calls.load(SeqCst), 10_001);
}

/// An object that uses the hub when it is dropped.
#[derive(Clone)]
struct ReentrantObject(#[expect(dead_code, reason = "it is dropped")] Arc<ReentrantDrop>);
struct ReentrantDrop(Arc<Hub<u8, ReentrantObject>>);

impl Drop for ReentrantDrop {
    fn drop(&mut self) {
        assert!(self.0.len() <= 1);
        drop(self.0.publishing());
    }
}

#[test]
fn queued_objects_are_dropped_outside_locks() {
    let (sender, delivery) = mpsc::channel();
    // On a thread of its own, so that a deadlock fails the test.
    let thread = std::thread::spawn(move || {
        let hub = Arc::new(Hub::new(1));
        let object = || ReentrantObject(Arc::new(ReentrantDrop(hub.clone())));
        let mut before = BTreeMap::from([(1, object()), (2, object())]);
        let list = |all: &BTreeMap<u8, ReentrantObject>, sender: &mut dyn FnMut(&u8, &ReentrantObject)| {
            all.iter().for_each(|(key, object)| sender(key, object));
        };
        let mut events = hub.register(now(), || std::mem::take(&mut before), list).expect("it is open");
        let notifications = |change| [Notification { key: 1, before: None, change }];
        let now_another = notifications(Change::Present { object: object(), initial: false });
        let gone = notifications(Change::Removed { last: object(), removal: DELETED });
        // The queue holds the last reference to a replaced object, a removed one, and the remaining
        // ones.
        for notifications in [now_another, gone] {
            let mut publishing = hub.publishing();
            publishing.publish(now(), &notifications);
            drop(publishing);
        }
        drop(events.next().now_or_never());
        drop(events);
        sender.send(()).expect("somebody waits");
    });
    delivery.recv_timeout(Duration::from_secs(20)).expect("it locks up nowhere");
    thread.join().expect("it did not panic");
}
