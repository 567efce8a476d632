//! Keyed informers on a fake source, with one stream and with a stream per key.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use futures::Stream;
use machinery_informers::deliver::Delivery;
use machinery_informers::testing::{FakeSource, Fault, OnEvent, TestObject};
use machinery_informers::{AcquireError, KeyedInformers, Lookup, ReflectorError, ReflectorLimits, WaitError};
use machinery_objects::{
    Bookmark, Capabilities, Field, Fields, InterestBy, Labels, ListError, ListRequest, ListWatch, Object,
    ObjectKey, Page, ResourceVersion, Revision, WatchError, WatchEvent, WatchRequest, WatchStream,
};
use machinery_sync::Mutex;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::interests::KeyedFixture;
use crate::support::{LISTS, key, seconds, settled, unavailable, virtually};

fn rig(can: Capabilities, per_key: bool) -> KeyedFixture {
    let rig = KeyedFixture::with(FakeSource::of_test_objects(can), |builder| {
        if per_key { builder.per_key() } else { builder }
    });
    rig.run();
    rig
}

fn thing(name: &str, place: &str, text: &str) -> TestObject {
    TestObject::new(&format!("default/{name}")).at(place).with_text(text)
}

fn both_modes<R: std::future::Future<Output = ()>>(test: impl Fn(bool) -> R) {
    for per_key in [false, true] {
        virtually(test(per_key));
    }
}

#[test]
fn keyed_informers_read_your_writes() {
    both_modes(|per_key| async move {
        let rig = rig(Capabilities::ALL, per_key);
        let KeyedFixture { fake, informers, .. } = &rig;
        let mut written = fake.put(thing("a", "p1", "one"));
        informers.wait_for(&written, Duration::ZERO).await.expect("of no key anything is to be shown");
        let held = ["p1", "p2"].map(|place| informers.acquire(place.into()).unwrap());
        for interest in &held {
            interest.synced().await.unwrap();
        }
        informers.wait_for(&written, Duration::ZERO).await.unwrap();
        for text in ["two", "three"] {
            written = fake.put(thing("a", "p1", text));
            informers.wait_for(&written, seconds(1)).await.unwrap();
            let Lookup::Unique(_, there) = informers.lookup(&key("default/a")) else { panic!("it is there") };
            assert_eq!(&*there.text, text);
        }
        // A write outside all keys is reached once all streams are past its version.
        written = fake.put(thing("b", "p9", "one"));
        let reached = TaskTracker::new().spawn({
            let (informers, written) = (informers.clone(), written.clone());
            async move { informers.wait_for(&written, seconds(50)).await }
        });
        sleep(seconds(5)).await;
        assert!(!reached.is_finished(), "nothing says so yet");
        fake.bookmark();
        settled().await;
        assert!(reached.is_finished());
        assert_eq!((reached.await.unwrap(), fake.calls().lists), (Ok(()), 0));
        let gone = fake.delete(&key("default/a")).unwrap();
        fake.bookmark();
        informers.wait_for(&gone, seconds(1)).await.unwrap();
        assert!(informers.read().is_empty());
        // Without events the source is read.
        written = fake.put(thing("b", "p8", "two"));
        informers.wait_for(&written, seconds(1)).await.unwrap();
        assert_eq!(fake.calls().lists, 1);
        fake.once(Fault::List(machinery_informers::testing::OnList::Fails(ListError::Source(unavailable()))));
        written = fake.put(thing("b", "p8", "three"));
        let unknown = informers.wait_for(&written, seconds(1)).await;
        assert!(matches!(unknown, Err(WaitError::Unknown { .. })), "{unknown:?}");
        // A stream that is behind is reported.
        fake.always(Fault::Event(OnEvent::Silent));
        written = fake.put(thing("c", "p1", "one"));
        let behind = informers.wait_for(&written, seconds(1)).await;
        assert_eq!(behind, Err(WaitError::Behind { key: key("default/c") }));
        fake.clear_faults();
        informers.wait_for(&written, seconds(20)).await.unwrap();
        let informers = informers.clone();
        rig.stop().await;
        // Nothing is reached any more, with or without interests.
        assert_eq!(informers.wait_for(&written, seconds(1)).await, Err(WaitError::Closed));
        drop(held);
        assert_eq!(informers.wait_for(&written, seconds(1)).await, Err(WaitError::Closed));
    });
}

#[test]
fn wait_for_waits_for_the_slowest_stream() {
    virtually(async {
        let rig = rig(Capabilities::ALL, true);
        let held = ["p1", "p2"].map(|place| rig.informers.acquire(place.into()).unwrap());
        for interest in &held {
            interest.synced().await.unwrap();
        }
        // One of the two streams is silent from now on.
        rig.fake.once(Fault::Event(OnEvent::Silent));
        rig.fake.bookmark();
        settled().await;
        let written = rig.fake.put(thing("b", "p9", "one"));
        rig.fake.bookmark();
        settled().await;
        let reached = TaskTracker::new().spawn({
            let informers = rig.informers.clone();
            async move { informers.wait_for(&written, seconds(1_000)).await }
        });
        sleep(seconds(100)).await;
        assert!(!reached.is_finished());
        sleep(seconds(100)).await;
        rig.fake.bookmark();
        settled().await;
        assert!(reached.is_finished(), "it was begun again");
        drop(held);
        rig.stop().await;
    });
}

#[test]
fn unordered_versions_still_read_your_writes() {
    both_modes(|per_key| async move {
        let mut can = Capabilities::ALL;
        can.versions_are_ordered = false;
        let rig = rig(can, per_key);
        let KeyedFixture { fake, informers, .. } = &rig;
        let held = informers.acquire("p1".into()).unwrap();
        held.synced().await.unwrap();
        let written = fake.put(thing("a", "p1", "one"));
        informers.wait_for(&written, seconds(1)).await.unwrap();
        assert_eq!(informers.read().len(), 1);
        let written = fake.put(thing("a", "p9", "two"));
        let calls = fake.calls().lists;
        informers.wait_for(&written, seconds(1)).await.unwrap();
        assert!(informers.read().is_empty());
        assert_eq!(fake.calls().lists, calls + 1, "the source says that it is nowhere here");
        let written = fake.put(thing("a", "p1", "three"));
        let gone = fake.delete(&key("default/a")).unwrap();
        informers.wait_for(&written, seconds(1)).await.unwrap();
        informers.wait_for(&gone, seconds(1)).await.unwrap();
        drop(held);
        rig.stop().await;
    });
}

#[test]
fn a_handler_receives_a_mark_when_a_key_is_complete() {
    both_modes(|per_key| async move {
        let rig = rig(Capabilities::ALL, per_key);
        let KeyedFixture { fake, informers, .. } = &rig;
        let mut events = informers.events().unwrap();
        assert_eq!(events.next().await, Some(Delivery::Mark(Bookmark::Synced)));
        let places = ["p3", "p1", "p2"];
        for place in places {
            fake.put(thing(&format!("{place}a"), place, "one"));
            fake.put(thing(&format!("{place}b"), place, "one"));
        }
        let held = places.map(|place| informers.acquire(place.into()).unwrap());
        assert!(held.iter().all(|interest| interest.completed().is_none()));
        for interest in &held {
            interest.synced().await.unwrap();
        }
        let mut delivered: Vec<String> = Vec::new();
        let mut complete = 0;
        while complete < 3 {
            match events.next().await.unwrap() {
                Delivery::Event((place, _), _) => delivered.push(place),
                Delivery::Mark(Bookmark::Complete(number)) => {
                    let whole = held.iter().filter(|interest| interest.completed().unwrap() <= number);
                    complete = whole.clone().count();
                    for interest in whole {
                        let of = delivered.iter().filter(|place| *place == interest.key()).count();
                        assert_eq!(of, 2, "{interest:?}: {delivered:?}");
                    }
                }
                Delivery::Mark(_) => {}
            }
        }
        assert_eq!(delivered.len(), 6);
        // A late handler receives all objects and then the mark.
        let mut late = informers.events().unwrap();
        for _ in 0..6 {
            assert!(matches!(late.next().await, Some(Delivery::Event(..))));
        }
        assert_eq!(late.next().await, Some(Delivery::Mark(Bookmark::Synced)));
        let last = held.iter().filter_map(|interest| interest.completed()).max().unwrap();
        assert_eq!(late.next().await, Some(Delivery::Mark(Bookmark::Complete(last))));
        // An acquired key has a new tenure and number.
        let [first, ..] = held;
        let before = first.completed();
        drop(first);
        let again = informers.acquire("p3".into()).unwrap();
        assert_eq!(again.completed(), None);
        again.synced().await.unwrap();
        assert!(again.completed() > before);
        drop(again);
        rig.stop().await;
    });
}

#[test]
fn unreadable_objects_and_late_changes_are_counted() {
    both_modes(|per_key| async move {
        let rig = rig(Capabilities::ALL, per_key);
        let KeyedFixture { fake, informers, .. } = &rig;
        fake.put_unreadable(thing("bad", "p1", "one"));
        fake.put(thing("a", "p1", "one"));
        let held = informers.acquire("p1".into()).unwrap();
        held.synced().await.unwrap();
        settled().await;
        let state = informers.state();
        assert_eq!((state.unreadable.len(), state.counts.unreadable, state.counts.late), (1, 1, 0));
        assert_eq!(state.unreadable[0].key, key("default/bad"));
        fake.put_unreadable(thing("worse", "p1", "one"));
        settled().await;
        assert_eq!(informers.state().unreadable.len(), 2);
        // The object is readable again, and an earlier event is repeated.
        fake.once(Fault::Event(OnEvent::EarlierAgain));
        fake.put(thing("bad", "p1", "two"));
        fake.put(thing("a", "p1", "two"));
        fake.once(Fault::Event(OnEvent::Twice));
        fake.put(thing("a", "p1", "three"));
        settled().await;
        let state = informers.state();
        assert_eq!(state.unreadable.len(), 1, "{state:?}");
        assert!(state.counts.late >= 1, "{state:?}");
        let other = informers.acquire("p2".into()).unwrap();
        other.synced().await.unwrap();
        drop(held);
        settled().await;
        // On one stream the key of the object is unknown.
        assert_eq!(informers.state().unreadable.len(), usize::from(!per_key));
        drop(other);
        settled().await;
        assert!(informers.state().unreadable.is_empty());
        rig.stop().await;
    });
}

#[test]
fn events_for_a_released_key_are_counted() {
    both_modes(|per_key| async move {
        let rig = rig(Capabilities::ALL, per_key);
        let KeyedFixture { fake, informers, .. } = &rig;
        let held = ["p1", "p2"].map(|place| informers.acquire(place.into()).unwrap());
        for interest in &held {
            interest.synced().await.unwrap();
        }
        settled().await;
        let [first, _second] = held;
        // The stream receives these events when the key is released, and learns of the release only
        // then.
        fake.put(thing("a", "p1", "one"));
        fake.put(thing("b", "p1", "one"));
        fake.put(thing("c", "p2", "one"));
        drop(first);
        settled().await;
        let state = informers.state();
        assert_eq!((state.counts.fenced, state.counts.events, state.names), (2, 3, 1));
        fake.put(thing("a", "p1", "two"));
        settled().await;
        assert_eq!(informers.state().counts.fenced, 2, "it has no further effect");
        rig.stop().await;
    });
}

#[test]
fn a_state_at_the_limit_is_accepted_and_one_above_is_not() {
    for objects in [3, 4] {
        both_modes(|per_key| async move {
            let mut limits = ReflectorLimits::default();
            limits.objects = 3;
            let rig = KeyedFixture::with(FakeSource::of_test_objects(Capabilities::ALL), |builder| {
                let builder = builder.limits(limits);
                if per_key { builder.per_key() } else { builder }
            });
            for number in 0..objects {
                rig.fake.put(thing(&format!("o{number}"), "p1", "one"));
            }
            let held = rig.informers.acquire("p1".into()).unwrap();
            rig.run();
            settled().await;
            let state = rig.informers.state();
            let endless = ReflectorError::Endless { limit: 3, of: "objects" };
            let trouble = (objects == 4).then_some(endless);
            let names = if objects == 3 { 3 } else { 0 };
            assert_eq!((held.is_synced(), state.names, state.trouble), (objects == 3, names, trouble));
            drop(held);
            rig.stop().await;
        });
    }
}

#[test]
fn lingering_keys_are_evicted_for_held_ones() {
    both_modes(|per_key| async move {
        let fake = FakeSource::of_test_objects(Capabilities::ALL);
        let rig = KeyedFixture::with(fake, |builder| {
            let builder = builder.keys(2).linger(seconds(100));
            if per_key { builder.per_key() } else { builder }
        });
        rig.run();
        let KeyedFixture { fake, informers, log, .. } = &rig;
        for place in ["p1", "p2", "p3"] {
            fake.put(thing(place, place, "one"));
        }
        let [first, second] = ["p1", "p2"].map(|place| informers.acquire(place.into()).unwrap());
        first.synced().await.unwrap();
        second.synced().await.unwrap();
        assert_eq!(informers.acquire("p3".into()).unwrap_err(), AcquireError::TooMany { limit: 2 });
        drop(first);
        settled().await;
        assert_eq!((informers.read().len(), log.take().len()), (2, 2));
        let third = informers.acquire("p3".into()).unwrap();
        assert_eq!(informers.read().count(&"p1".to_owned()), 0, "it is let go at once");
        third.synced().await.unwrap();
        settled().await;
        let delivered = log.take();
        assert!(
            delivered.len() == 2 && delivered.contains(&"left default/p1@one".to_owned()),
            "{delivered:?}"
        );
        assert_eq!(informers.state().keys, 2);
        drop((second, third));
        rig.stop().await;
    });
}

/// An object with a conversion that panics.
#[derive(Clone, Debug)]
struct Raw(TestObject);

#[derive(Debug)]
struct Cooked(TestObject);

impl Object for Raw {
    fn key(&self) -> ObjectKey {
        self.0.key()
    }
    fn version(&self) -> Option<ResourceVersion> {
        self.0.version()
    }
    fn labels(&self) -> Labels {
        self.0.labels()
    }
}

impl From<Raw> for Arc<Cooked> {
    fn from(raw: Raw) -> Self {
        assert!(&*raw.0.text != "raw", "it cannot be cooked");
        Self::new(Cooked(raw.0))
    }
}

impl Object for Cooked {
    fn key(&self) -> ObjectKey {
        assert!(&*self.0.text != "nameless", "it has no name");
        self.0.key()
    }
    fn version(&self) -> Option<ResourceVersion> {
        assert!(&*self.0.text != "ageless", "it has no version");
        self.0.version()
    }
    fn labels(&self) -> Labels {
        self.0.labels()
    }
}

#[test]
fn a_panicking_object_hides_no_others() {
    both_modes(|per_key| async move {
        let place = Field::new(TestObject::PLACE, |raw: &Raw| Some(raw.0.place.to_string())).unwrap();
        // Some objects arrive in a list, others by a watch.
        let can = if per_key { LISTS } else { Capabilities::ALL };
        let fake: FakeSource<Raw> = FakeSource::new(can, Fields::new([place]), |raw, version, _| {
            raw.0.version = Some(version);
        });
        let source: Arc<dyn ListWatch<Raw>> = Arc::new(fake.clone());
        let by = InterestBy::Field(TestObject::PLACE.into());
        let find = |cooked: &Cooked| Some(cooked.0.place.to_string());
        let builder = KeyedInformers::<String, Cooked>::builder(source, by, find);
        let informers = if per_key { builder.per_key() } else { builder }.build();
        let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
        tasks.spawn(informers.run(stopping.clone()));
        for text in ["raw", "nameless", "ageless", "fine"] {
            fake.put(Raw(thing(&format!("{text}1"), "p", text)));
        }
        let held = informers.acquire("p".into()).unwrap();
        tokio::time::timeout(seconds(600), held.synced()).await.expect("it becomes complete").unwrap();
        for text in ["raw", "nameless", "ageless", "fine"] {
            fake.put(Raw(thing(&format!("{text}2"), "p", text)));
        }
        settled().await;
        let mut names: Vec<_> = informers.read().names().map(ToString::to_string).collect();
        names.sort_unstable();
        assert_eq!(names, ["default/fine1", "default/fine2"]);
        let state = informers.state();
        assert_eq!((state.counts.unreadable, state.trouble, state.streams), (6, None, 1));
        drop(held);
        stopping.cancel();
        tasks.close();
        tasks.wait().await;
        assert_eq!(fake.calls().open_watches, 0);
    });
}

/// A source with watches that are slow to drop, so that the informers stop first.
#[derive(Clone, Default)]
struct Slow {
    watched: Arc<AtomicBool>,
    stopped: Arc<Mutex<Option<Receiver<()>>>>,
    ended: Arc<AtomicBool>,
}

struct Ending(Slow);

impl Stream for Ending {
    type Item = Result<WatchEvent<TestObject>, WatchError>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.watched.store(true, Ordering::Release);
        Poll::Pending
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let stopped = self.0.stopped.lock().take();
        let _ = stopped.map(|stopped| stopped.recv_timeout(Duration::from_millis(200)));
        self.0.ended.store(true, Ordering::Release);
    }
}

#[async_trait]
impl ListWatch<TestObject> for Slow {
    fn capabilities(&self) -> Capabilities {
        Capabilities::LEAST
    }

    async fn list(&self, _: ListRequest) -> Result<Page<TestObject>, ListError> {
        let version = Revision(1).into();
        Ok(Page { items: Vec::new(), unreadable: Vec::new(), version, rest: None, remaining: None })
    }

    async fn watch(&self, _: WatchRequest) -> Result<WatchStream<TestObject>, WatchError> {
        Ok(Box::pin(Ending(self.clone())))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopped_informers_leave_no_stream() {
    let slow = Slow::default();
    let (stopped, waits) = channel();
    *slow.stopped.lock() = Some(waits);
    let source: Arc<dyn ListWatch<TestObject>> = Arc::new(slow.clone());
    let by = InterestBy::Field(TestObject::PLACE.into());
    let find = |thing: &TestObject| Some(thing.place.to_string());
    let informers = KeyedInformers::builder(source, by, find).build();
    let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
    tasks.spawn(informers.run(stopping.clone()));
    let held = informers.acquire("p".to_owned()).unwrap();
    held.synced().await.unwrap();
    while !slow.watched.load(Ordering::Acquire) {
        sleep(Duration::from_millis(1)).await;
    }
    stopping.cancel();
    tasks.close();
    tasks.wait().await;
    let ended = slow.ended.load(Ordering::Acquire);
    let _ = stopped.send(());
    assert!(ended, "it is waited for");
    drop(held);
}

#[test]
fn ten_thousand_short_interests_leave_nothing() {
    both_modes(|per_key| async move {
        let rig = rig(Capabilities::ALL, per_key);
        let KeyedFixture { fake, informers, .. } = &rig;
        for place in 0..50 {
            fake.put(thing(&format!("o{place}"), &format!("p{place}"), "one"));
        }
        let stays = informers.acquire("p0".into()).unwrap();
        stays.synced().await.unwrap();
        settled().await;
        let of = |rig: &KeyedFixture| {
            let (state, calls) = (rig.informers.state(), rig.fake.calls());
            let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
            (
                (state.keys, state.interests, state.names, state.streams),
                (calls.open_watches, tasks),
                state.trouble,
            )
        };
        let before = of(&rig);
        for turn in 0..10_000 {
            let held = informers.acquire(format!("p{}", turn % 50)).unwrap();
            if turn % 10 == 0 {
                held.synced().await.unwrap();
            } else if turn % 3 == 0 {
                tokio::task::yield_now().await;
            }
        }
        sleep(seconds(2)).await;
        assert_eq!(of(&rig), before);
        let state = informers.state();
        assert_eq!(state.counts.troubles, 0);
        if !per_key {
            assert_eq!(state.counts.opened, 1, "it is one stream all the time");
            assert!((1_000..20_000).contains(&state.counts.edits), "{state:?}");
        }
        drop(stays);
        rig.stop().await;
    });
}
