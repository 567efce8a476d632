//! What becomes of handlers that are slow, late, broken, removed or left behind.

use super::{Cache, DELETED, Key, Known, MISSED, State, now};
use crate::deliver::{Change, Closed, Events, Hub, News, Registration, Told, spawn};
use futures::FutureExt;
use machinery_objects::{Event, Mark, Revision};
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A cache with handlers.
struct Plane {
    hub: Hub<Key, State>,
    cache: Cache,
    tasks: TaskTracker,
    stopping: CancellationToken,
}

impl Plane {
    /// One that is synced, without any object.
    fn new() -> Self {
        let plane = Self::before_the_sync();
        plane.mark(&Mark::Synced);
        plane
    }

    fn before_the_sync() -> Self {
        let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
        Self { hub: Hub::new(1), cache: Cache::default(), tasks, stopping }
    }

    fn say(&self, news: News<Key, State>) {
        self.hub.publishing().publish(now(), &[news]);
    }

    fn set(&mut self, key: &str, object: State) {
        let news = self.cache.set(key, object, false);
        self.say(news);
    }

    fn delete(&mut self, key: &str) {
        let news = self.cache.end(key, DELETED);
        self.say(news);
    }

    fn mark(&self, mark: &Mark) {
        self.hub.publishing().mark(mark);
    }

    fn try_events(&self) -> Result<Events<Key, State>, Closed> {
        let all = &self.cache.0;
        self.hub.register(now(), || all, |all, tell| all.iter().for_each(|(key, object)| tell(key, object)))
    }

    fn events(&self) -> Events<Key, State> {
        self.try_events().expect("it is open")
    }

    fn handle(&self, handle: impl FnMut(Told<Key, State>) + Send + 'static) -> Registration {
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

/// What is due to somebody now.
fn due(events: &mut Events<Key, State>) -> Vec<Told<Key, State>> {
    std::iter::from_fn(|| events.next().now_or_never().flatten()).collect()
}

fn added(key: &str, object: State, initial: bool) -> Told<Key, State> {
    Told::Event(key.into(), Event::Added { object, initial })
}

fn deleted(key: &str, last: State) -> Told<Key, State> {
    Told::Event(key.into(), Event::Deleted { last, final_state_known: true })
}

const SYNCED: Told<Key, State> = Told::Mark(Mark::Synced);

/// A handler that is in a call until it is let go.
struct Stuck {
    registration: Registration,
    calls: Arc<AtomicUsize>,
    let_go: mpsc::Sender<()>,
}

impl Stuck {
    /// The call is under way when this returns.
    async fn new(plane: &Plane) -> Self {
        let calls = Arc::new(AtomicUsize::new(0));
        let (let_go, held) = mpsc::channel();
        let (begin, mut begun) = tokio::sync::mpsc::unbounded_channel();
        let counted = calls.clone();
        let registration = plane.handle(move |_| {
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
async fn a_slow_handler_costs_a_key_each_and_slows_nobody() {
    let mut plane = Plane::new();
    let mut quick = plane.events();
    let slow = Stuck::new(&plane).await;
    let mut known = Known::default();
    for object in 0..100_000 {
        plane.set(&format!("k{}", object % 10), object);
        due(&mut quick).into_iter().for_each(|told| known.hear(told));
        assert_eq!(known.objects, plane.cache.0, "the other hears of it at once");
    }
    let later = now() + Duration::from_secs(60);
    let lag = slow.registration.lag_at(later);
    assert_eq!(lag.due, 10);
    assert!(lag.waiting >= Duration::from_secs(60), "{lag:?}");
    drop(slow.let_go);
    let calls = slow.calls;
    plane.hub.close();
    plane.ended().await;
    assert_eq!(calls.load(SeqCst), 1 + 10, "the call that was running, and one for each key");
}

#[tokio::test]
async fn who_has_gone_is_forgotten_with_the_next_change() {
    let mut plane = Plane::new();
    let events = plane.events();
    drop(plane.events());
    plane.set("a", 1);
    assert!(plane.hub.publishing().is_heard());
    drop(events);
    plane.set("a", 2);
    assert!(!plane.hub.publishing().is_heard());
}

/// kube-rs/kube#1630: who subscribes late never hears of what is there.
#[tokio::test]
async fn who_comes_late_begins_with_what_is_there() {
    let mut plane = Plane::new();
    plane.set("a", 1);
    plane.set("b", 2);
    let mut late = plane.events();
    plane.set("b", 3);
    plane.delete("a");
    plane.set("c", 4);
    // What is gone before it is told is not told, and what is there is told as it is.
    assert_eq!(due(&mut late), [added("b", 3, true), SYNCED, added("c", 4, false)]);
    let mut later = plane.events();
    assert_eq!(due(&mut later), [added("b", 3, true), added("c", 4, true), SYNCED]);
}

#[tokio::test]
async fn what_changes_while_the_beginning_is_read_is_told_after_it() {
    let mut plane = Plane::new();
    for (key, object) in [("a", 1), ("b", 2), ("c", 3)] {
        plane.set(key, object);
    }
    let began = plane.cache.0.clone();
    let changes =
        [plane.cache.end("a", DELETED), plane.cache.set("b", 4, false), plane.cache.set("d", 5, false)];
    let list = |began: &BTreeMap<Key, State>, tell: &mut dyn FnMut(&Key, &State)| {
        // Nobody waits for who reads.
        plane.hub.publishing().publish(now(), &changes);
        began.iter().for_each(|(key, object)| tell(key, object));
    };
    let mut events = plane.hub.register(now(), || began, list).expect("it is open");
    assert_eq!(due(&mut events), [added("b", 4, true), added("c", 3, true), SYNCED, added("d", 5, false)]);
}

/// kube-rs/kube#1590: of shared subscribers none hears of deletes; here also of those that a list brings to light.
#[tokio::test]
async fn a_delete_is_told_to_every_handler_with_the_last_state() {
    let mut plane = Plane::new();
    plane.set("a", 1);
    plane.set("b", 2);
    let mut all = [plane.events(), plane.events(), plane.events()];
    for events in &mut all {
        assert_eq!(due(events).len(), 3);
    }
    plane.delete("a");
    let missing = plane.cache.end("b", MISSED);
    plane.say(missing);
    for events in &mut all {
        let gone = Told::Event("b".into(), Event::Deleted { last: 2, final_state_known: false });
        assert_eq!(due(events), [deleted("a", 1), gone]);
    }
}

/// A `ReflectHandle` of kube-rs that is woken for an object which has left the store meanwhile is never woken again.
#[tokio::test]
async fn who_is_woken_for_what_is_gone_by_then_is_woken_again() {
    let mut plane = Plane::new();
    let mut events = plane.events();
    let heard = plane.tasks.spawn(async move {
        let mut heard = Vec::new();
        while let Some(told) = events.next().await {
            heard.push(told);
        }
        heard
    });
    tokio::task::yield_now().await;
    plane.set("foo", 1);
    plane.delete("foo");
    tokio::task::yield_now().await;
    for object in 0..30 {
        plane.set("bar", object);
        tokio::task::yield_now().await;
    }
    plane.hub.close();
    let heard = within(heard).await.expect("it did not panic");
    assert_eq!(heard.first(), Some(&SYNCED));
    assert_eq!(heard.len(), 1 + 30, "each is told while it is there: {heard:?}");
}

/// client-go by default ends the process when a handler panics; where it does not, the handler sleeps for a second.
#[tokio::test]
async fn a_call_that_panics_loses_its_event_and_no_other() {
    let mut plane = Plane::new();
    let (tell, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let handler = plane.handle(move |told| {
        assert!(!matches!(&told, Told::Event(key, _) if **key == *"bad"), "on purpose");
        tell.send(told).expect("somebody listens");
    });
    for (key, object) in [("a", 1), ("bad", 2), ("b", 3)] {
        plane.set(key, object);
    }
    for expected in [SYNCED, added("a", 1, false), added("b", 3, false)] {
        assert_eq!(within(heard.recv()).await, Some(expected));
    }
    assert_eq!(handler.lag().panics, 1);
    assert_eq!(within(handler.synced()).await, Ok(()));
}

/// `RemoveEventHandler` of client-go returns while events that were queued are still handled.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removal_waits_for_the_call_that_is_running_and_no_other_begins() {
    let mut plane = Plane::new();
    let Stuck { registration, calls, let_go } = Stuck::new(&plane).await;
    plane.set("a", 1);
    let mut removal = Box::pin(registration.remove());
    assert_eq!((&mut removal).now_or_never(), None, "the call is running");
    assert_eq!(registration.lag().due, 0, "what was due is dropped at once");
    plane.set("b", 2);
    let_go.send(()).expect("the call is running");
    within(removal).await;
    within(registration.remove()).await;
    plane.ended().await;
    assert_eq!(calls.load(SeqCst), 1);
}

#[test]
fn a_removal_is_over_with_the_call_and_not_with_the_task() {
    let mut plane = Plane::new();
    for object in 0..100 {
        plane.set(&object.to_string(), object);
    }
    let own = Arc::new(OnceLock::<Registration>::new());
    let (tell, told) = mpsc::channel();
    let (itself, mut calls) = (own.clone(), 0);
    let (registration, running) = plane.events().each(move |_| {
        calls += 1;
        // After this call others have a turn.
        if calls < 64 {
            return;
        }
        let mut removal = Box::pin(itself.get().expect("it was put there first").remove());
        let (begin, begun) = mpsc::channel();
        let tell = tell.clone();
        std::thread::spawn(move || {
            assert_eq!((&mut removal).now_or_never(), None, "the call is running");
            begin.send(()).expect("the call waits for it");
            futures::executor::block_on(removal);
            tell.send(()).expect("the test waits for it");
        });
        begun.recv().expect("the thread says so");
    });
    own.set(registration).expect("nobody else did");
    let mut running = Box::pin(running);
    assert_eq!((&mut running).now_or_never(), None);
    told.recv_timeout(Duration::from_secs(20))
        .expect("nobody drives the handler any more, and it is removed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removal_that_nobody_waits_for_is_one() {
    for how in ["an unpolled future", "a polled future", "a drop"] {
        let mut plane = Plane::new();
        let stuck = Stuck::new(&plane).await;
        plane.set("a", 1);
        match how {
            "a drop" => drop(stuck.registration),
            "a polled future" => assert_eq!(stuck.registration.remove().now_or_never(), None),
            _ => drop(stuck.registration.remove()),
        }
        drop(stuck.let_go);
        assert_eq!(plane.hub.len(), 0, "{how}");
        plane.ended().await;
        assert_eq!(stuck.calls.load(SeqCst), 1, "{how}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_can_remove_itself_in_its_own_call() {
    let mut plane = Plane::new();
    let own = Arc::new(OnceLock::<Registration>::new());
    let calls = Arc::new(AtomicUsize::new(0));
    let (counted, itself) = (calls.clone(), own.clone());
    let events = plane.events();
    let (registration, running) = events.each(move |_| {
        counted.fetch_add(1, SeqCst);
        let registration = itself.get().expect("it was put there first");
        futures::executor::block_on(registration.remove());
    });
    own.set(registration).expect("nobody else did");
    plane.set("a", 1);
    within(plane.tasks.spawn(running)).await.expect("it ends");
    assert_eq!(calls.load(SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_can_bring_and_remove_others_and_change_the_cache() {
    let plane = Plane::new();
    let (hub, other) = (Arc::new(plane.hub), Arc::new(AtomicBool::new(false)));
    let list = |(): &(), _: &mut dyn FnMut(&Key, &State)| ();
    let (busy, called) = (hub.clone(), other.clone());
    let events = hub.register(now(), || (), list).expect("it is open");
    let (registration, running) = events.each(move |told| {
        if told == SYNCED {
            drop(busy.register(now(), || (), list));
            let news = Cache::default().set("a", 1, false);
            busy.publishing().publish(now(), &[news]);
        } else {
            called.store(true, SeqCst);
            busy.close();
        }
    });
    within(plane.tasks.spawn(running)).await.expect("it ends");
    assert!(other.load(SeqCst));
    drop(registration);
}

#[tokio::test]
async fn when_the_hub_closes_what_is_due_is_told_and_nobody_comes_any_more() {
    let mut plane = Plane::new();
    plane.set("a", 1);
    let mut events = plane.events();
    let (tell, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let handler = plane.handle(move |told| drop(tell.send(told)));
    plane.set("a", 2);
    plane.hub.close();
    plane.set("b", 3);
    assert_eq!(due(&mut events)[..2], [added("a", 2, true), SYNCED]);
    assert_eq!(events.next().await, None);
    assert_eq!(plane.try_events().err(), Some(Closed));
    plane.ended().await;
    assert_eq!(heard.recv().await, Some(added("a", 2, true)));
    assert_eq!(within(handler.synced()).await, Ok(()), "it was, before the end");
    within(handler.remove()).await;
}

#[tokio::test]
async fn a_cancelled_handler_ends_with_what_it_is_at() {
    let mut plane = Plane::new();
    let stopping = plane.stopping.clone();
    let handler = plane.handle(move |_| stopping.cancel());
    for object in 0..100_000 {
        plane.set(&object.to_string(), object);
    }
    plane.ended().await;
    assert_eq!(handler.lag().due, 0);
    within(handler.remove()).await;
}

#[tokio::test]
async fn who_is_detached_is_called_for_as_long_as_there_is_something() {
    let mut plane = Plane::new();
    let (tell, mut heard) = tokio::sync::mpsc::unbounded_channel();
    plane.handle(move |told| drop(tell.send(told))).detach();
    plane.set("a", 1);
    for expected in [SYNCED, added("a", 1, false)] {
        assert_eq!(within(heard.recv()).await, Some(expected));
    }
    plane.hub.close();
    plane.ended().await;
    assert_eq!(heard.recv().await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_is_synced_when_it_has_handled_what_was_there() {
    let mut plane = Plane::new();
    plane.set("a", 1);
    let stuck = Stuck::new(&plane).await;
    assert!(!stuck.registration.is_synced());
    assert_eq!(stuck.registration.synced().now_or_never(), None);
    stuck.let_go.send(()).expect("it is at the object");
    stuck.let_go.send(()).expect("it comes to the mark");
    assert_eq!(within(stuck.registration.synced()).await, Ok(()));
    drop(stuck.let_go);
}

#[tokio::test]
async fn who_is_removed_before_it_is_synced_never_will_be() {
    let plane = Plane::new();
    let handler = plane.handle(|_| ());
    let (synced, removal) = (handler.synced(), handler.remove());
    assert_eq!(within(synced).await, Err(Closed));
    within(removal).await;
}

#[tokio::test]
async fn who_comes_before_the_cache_is_synced_is_synced_with_it_and_once() {
    let mut plane = Plane::before_the_sync();
    let mut early = plane.events();
    assert_eq!(due(&mut early), []);
    let news = plane.cache.set("a", 1, true);
    plane.say(news);
    plane.mark(&Mark::Synced);
    let mut late = plane.events();
    plane.mark(&Mark::Synced);
    plane.mark(&Mark::Progress(Revision(7).into()));
    let progress = Told::Mark(Mark::Progress(Revision(7).into()));
    for events in [&mut early, &mut late] {
        assert!(!events.is_synced());
        assert_eq!(due(events), [added("a", 1, true), SYNCED, progress.clone()]);
        assert!(events.is_synced());
    }
}

#[tokio::test]
async fn a_handler_with_much_to_hear_lets_others_run() {
    let mut plane = Plane::new();
    for object in 0..10_000 {
        plane.set(&object.to_string(), object);
    }
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let handler = plane.handle(move |_| {
        counted.fetch_add(1, SeqCst);
    });
    let seen = calls.clone();
    let other = plane.tasks.spawn(async move { seen.load(SeqCst) });
    let calls_before = within(other).await.expect("it did not panic");
    assert!((1..5_000).contains(&calls_before), "{calls_before} calls come first");
    within(handler.synced()).await.expect("it goes on");
    assert_eq!(calls.load(SeqCst), 10_001);
}

/// An object whose drop uses the hub.
#[derive(Clone)]
struct Meddler(#[expect(dead_code, reason = "it is dropped")] Arc<Meddling>);
struct Meddling(Arc<Hub<u8, Meddler>>);

impl Drop for Meddling {
    fn drop(&mut self) {
        assert!(self.0.len() <= 1);
        drop(self.0.publishing());
    }
}

#[test]
fn objects_are_dropped_where_no_lock_is_held() {
    let (tell, told) = mpsc::channel();
    // On a thread, so that a deadlock is a failure.
    let thread = std::thread::spawn(move || {
        let hub = Arc::new(Hub::new(1));
        let object = || Meddler(Arc::new(Meddling(hub.clone())));
        let mut before = BTreeMap::from([(1, object()), (2, object())]);
        let list = |all: &BTreeMap<u8, Meddler>, tell: &mut dyn FnMut(&u8, &Meddler)| {
            all.iter().for_each(|(key, object)| tell(key, object));
        };
        let mut events = hub.register(now(), || std::mem::take(&mut before), list).expect("it is open");
        let news = |change| [News { key: 1, before: None, change }];
        let now_another = news(Change::Now { object: object(), initial: false });
        let gone = news(Change::Gone { last: object(), why: DELETED });
        // The inbox has the last of them: of one that is replaced, of one that goes, and of those that are left.
        for news in [now_another, gone] {
            let mut publishing = hub.publishing();
            publishing.publish(now(), &news);
            drop(publishing);
        }
        drop(events.next().now_or_never());
        drop(events);
        tell.send(()).expect("somebody waits");
    });
    told.recv_timeout(Duration::from_secs(20)).expect("it locks up nowhere");
    thread.join().expect("it did not panic");
}
