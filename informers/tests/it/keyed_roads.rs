//! What keyed informers promise by either source, on one that does as it is told.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use futures::Stream;
use machinery_informers::deliver::Told;
use machinery_informers::testing::{Fault, OnEvent, Plane, Thing};
use machinery_informers::{KeyedInformers, Limits, Lookup, NotAcquired, NotReached, Trouble};
use machinery_objects::{
    Capabilities, Field, Fields, InterestBy, Labels, ListError, ListRequest, ListWatch, Mark, Object,
    ObjectKey, Page, ResourceVersion, Revision, WatchError, WatchEvent, WatchRequest, WatchStream,
};
use machinery_sync::Mutex;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::interests::Rig;
use crate::support::{LISTS, key, seconds, settled, unavailable, virtually};

fn rig(can: Capabilities, per_key: bool) -> Rig {
    let rig = Rig::with(Plane::of_things(can), |builder| if per_key { builder.per_key() } else { builder });
    rig.run();
    rig
}

fn thing(name: &str, place: &str, text: &str) -> Thing {
    Thing::new(&format!("default/{name}")).at(place).says(text)
}

fn both_roads<R: std::future::Future<Output = ()>>(test: impl Fn(bool) -> R) {
    for per_key in [false, true] {
        virtually(test(per_key));
    }
}

#[test]
fn what_one_wrote_is_read() {
    both_roads(|per_key| async move {
        let rig = rig(Capabilities::ALL, per_key);
        let Rig { plane, informers, .. } = &rig;
        let mut written = plane.put(thing("a", "p1", "one"));
        informers.reached(&written, Duration::ZERO).await.expect("of no key anything is to be shown");
        let held = ["p1", "p2"].map(|place| informers.acquire(place.into()).unwrap());
        for interest in &held {
            interest.synced().await.unwrap();
        }
        informers.reached(&written, Duration::ZERO).await.unwrap();
        for text in ["two", "three"] {
            written = plane.put(thing("a", "p1", text));
            informers.reached(&written, seconds(1)).await.unwrap();
            let Lookup::Unique(_, there) = informers.lookup(&key("default/a")) else { panic!("it is there") };
            assert_eq!(&*there.text, text);
        }
        // What goes where nobody looks is known to be past when all have heard so.
        written = plane.put(thing("b", "p9", "one"));
        let reached = TaskTracker::new().spawn({
            let (informers, written) = (informers.clone(), written.clone());
            async move { informers.reached(&written, seconds(50)).await }
        });
        sleep(seconds(5)).await;
        assert!(!reached.is_finished(), "nothing says so yet");
        plane.bookmark();
        settled().await;
        assert!(reached.is_finished());
        assert_eq!((reached.await.unwrap(), plane.asked().lists), (Ok(()), 0));
        let gone = plane.delete(&key("default/a")).unwrap();
        plane.bookmark();
        informers.reached(&gone, seconds(1)).await.unwrap();
        assert!(informers.read().is_empty());
        // Without a word the source is asked.
        written = plane.put(thing("b", "p8", "two"));
        informers.reached(&written, seconds(1)).await.unwrap();
        assert_eq!(plane.asked().lists, 1);
        plane
            .once(Fault::List(machinery_informers::testing::OnList::Fails(ListError::Source(unavailable()))));
        written = plane.put(thing("b", "p8", "three"));
        let unknown = informers.reached(&written, seconds(1)).await;
        assert!(matches!(unknown, Err(NotReached::Unknown { .. })), "{unknown:?}");
        // One that is behind says so.
        plane.always(Fault::Event(OnEvent::Silent));
        written = plane.put(thing("c", "p1", "one"));
        let behind = informers.reached(&written, seconds(1)).await;
        assert_eq!(behind, Err(NotReached::Behind { key: key("default/c") }));
        plane.behave();
        informers.reached(&written, seconds(20)).await.unwrap();
        let informers = informers.clone();
        rig.stop().await;
        // Nothing is shown any more, whether somebody holds a key or nobody does.
        assert_eq!(informers.reached(&written, seconds(1)).await, Err(NotReached::Closed));
        drop(held);
        assert_eq!(informers.reached(&written, seconds(1)).await, Err(NotReached::Closed));
    });
}

#[test]
fn of_two_streams_the_one_that_is_behind_is_waited_for() {
    virtually(async {
        let rig = rig(Capabilities::ALL, true);
        let held = ["p1", "p2"].map(|place| rig.informers.acquire(place.into()).unwrap());
        for interest in &held {
            interest.synced().await.unwrap();
        }
        // One of the two says nothing any more.
        rig.plane.once(Fault::Event(OnEvent::Silent));
        rig.plane.bookmark();
        settled().await;
        let written = rig.plane.put(thing("b", "p9", "one"));
        rig.plane.bookmark();
        settled().await;
        let reached = TaskTracker::new().spawn({
            let informers = rig.informers.clone();
            async move { informers.reached(&written, seconds(1_000)).await }
        });
        sleep(seconds(100)).await;
        assert!(!reached.is_finished());
        sleep(seconds(100)).await;
        rig.plane.bookmark();
        settled().await;
        assert!(reached.is_finished(), "it was begun again");
        drop(held);
        rig.stop().await;
    });
}

#[test]
fn where_versions_are_not_ordered_what_one_wrote_is_read_too() {
    both_roads(|per_key| async move {
        let mut can = Capabilities::ALL;
        can.versions_are_ordered = false;
        let rig = rig(can, per_key);
        let Rig { plane, informers, .. } = &rig;
        let held = informers.acquire("p1".into()).unwrap();
        held.synced().await.unwrap();
        let written = plane.put(thing("a", "p1", "one"));
        informers.reached(&written, seconds(1)).await.unwrap();
        assert_eq!(informers.read().len(), 1);
        let written = plane.put(thing("a", "p9", "two"));
        let asked = plane.asked().lists;
        informers.reached(&written, seconds(1)).await.unwrap();
        assert!(informers.read().is_empty());
        assert_eq!(plane.asked().lists, asked + 1, "the source says that it is nowhere here");
        let written = plane.put(thing("a", "p1", "three"));
        let gone = plane.delete(&key("default/a")).unwrap();
        informers.reached(&written, seconds(1)).await.unwrap();
        informers.reached(&gone, seconds(1)).await.unwrap();
        drop(held);
        rig.stop().await;
    });
}

#[test]
fn a_handler_learns_when_it_has_been_told_all_of_a_key() {
    both_roads(|per_key| async move {
        let rig = rig(Capabilities::ALL, per_key);
        let Rig { plane, informers, .. } = &rig;
        let mut events = informers.events().unwrap();
        assert_eq!(events.next().await, Some(Told::Mark(Mark::Synced)));
        let places = ["p3", "p1", "p2"];
        for place in places {
            plane.put(thing(&format!("{place}a"), place, "one"));
            plane.put(thing(&format!("{place}b"), place, "one"));
        }
        let held = places.map(|place| informers.acquire(place.into()).unwrap());
        assert!(held.iter().all(|interest| interest.completed().is_none()));
        for interest in &held {
            interest.synced().await.unwrap();
        }
        let mut told: Vec<String> = Vec::new();
        let mut complete = 0;
        while complete < 3 {
            match events.next().await.unwrap() {
                Told::Event((place, _), _) => told.push(place),
                Told::Mark(Mark::Complete(number)) => {
                    let whole = held.iter().filter(|interest| interest.completed().unwrap() <= number);
                    complete = whole.clone().count();
                    for interest in whole {
                        let of = told.iter().filter(|place| *place == interest.key()).count();
                        assert_eq!(of, 2, "{interest:?}: {told:?}");
                    }
                }
                Told::Mark(_) => {}
            }
        }
        assert_eq!(told.len(), 6);
        // Who comes late is told of all, and then so.
        let mut late = informers.events().unwrap();
        for _ in 0..6 {
            assert!(matches!(late.next().await, Some(Told::Event(..))));
        }
        assert_eq!(late.next().await, Some(Told::Mark(Mark::Synced)));
        let last = held.iter().filter_map(|interest| interest.completed()).max().unwrap();
        assert_eq!(late.next().await, Some(Told::Mark(Mark::Complete(last))));
        // A key that comes back is another one.
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
fn what_cannot_be_read_and_what_came_late_is_counted() {
    both_roads(|per_key| async move {
        let rig = rig(Capabilities::ALL, per_key);
        let Rig { plane, informers, .. } = &rig;
        plane.put_unreadable(thing("bad", "p1", "one"));
        plane.put(thing("a", "p1", "one"));
        let held = informers.acquire("p1".into()).unwrap();
        held.synced().await.unwrap();
        settled().await;
        let state = informers.state();
        assert_eq!((state.unreadable.len(), state.counts.unreadable, state.counts.late), (1, 1, 0));
        assert_eq!(state.unreadable[0].key, key("default/bad"));
        plane.put_unreadable(thing("worse", "p1", "one"));
        settled().await;
        assert_eq!(informers.state().unreadable.len(), 2);
        // It can be read now, and what was told before is told again.
        plane.once(Fault::Event(OnEvent::EarlierAgain));
        plane.put(thing("bad", "p1", "two"));
        plane.put(thing("a", "p1", "two"));
        plane.once(Fault::Event(OnEvent::Twice));
        plane.put(thing("a", "p1", "three"));
        settled().await;
        let state = informers.state();
        assert_eq!(state.unreadable.len(), 1, "{state:?}");
        assert!(state.counts.late >= 1, "{state:?}");
        let other = informers.acquire("p2".into()).unwrap();
        other.synced().await.unwrap();
        drop(held);
        settled().await;
        // Which key it was under one stream cannot tell.
        assert_eq!(informers.state().unreadable.len(), usize::from(!per_key));
        drop(other);
        settled().await;
        assert!(informers.state().unreadable.is_empty());
        rig.stop().await;
    });
}

#[test]
fn what_comes_for_a_key_that_was_let_go_is_counted() {
    both_roads(|per_key| async move {
        let rig = rig(Capabilities::ALL, per_key);
        let Rig { plane, informers, .. } = &rig;
        let held = ["p1", "p2"].map(|place| informers.acquire(place.into()).unwrap());
        for interest in &held {
            interest.synced().await.unwrap();
        }
        settled().await;
        let [first, _second] = held;
        // The stream hears of these when the key is let go, and of its end only then.
        plane.put(thing("a", "p1", "one"));
        plane.put(thing("b", "p1", "one"));
        plane.put(thing("c", "p2", "one"));
        drop(first);
        settled().await;
        let state = informers.state();
        assert_eq!((state.counts.fenced, state.counts.events, state.names), (2, 3, 1));
        plane.put(thing("a", "p1", "two"));
        settled().await;
        assert_eq!(informers.state().counts.fenced, 2, "nothing comes of it any more");
        rig.stop().await;
    });
}

#[test]
fn a_state_of_as_many_objects_as_there_may_be_is_taken_and_of_one_more_is_not() {
    for objects in [3, 4] {
        both_roads(|per_key| async move {
            let mut limits = Limits::default();
            limits.objects = 3;
            let rig = Rig::with(Plane::of_things(Capabilities::ALL), |builder| {
                let builder = builder.limits(limits);
                if per_key { builder.per_key() } else { builder }
            });
            for number in 0..objects {
                rig.plane.put(thing(&format!("o{number}"), "p1", "one"));
            }
            let held = rig.informers.acquire("p1".into()).unwrap();
            rig.run();
            settled().await;
            let state = rig.informers.state();
            let endless = Trouble::Endless { limit: 3, of: "objects" };
            let trouble = (objects == 4).then_some(endless);
            let names = if objects == 3 { 3 } else { 0 };
            assert_eq!((held.is_synced(), state.names, state.trouble), (objects == 3, names, trouble));
            drop(held);
            rig.stop().await;
        });
    }
}

#[test]
fn keys_that_linger_make_room_for_those_that_are_held() {
    both_roads(|per_key| async move {
        let plane = Plane::of_things(Capabilities::ALL);
        let rig = Rig::with(plane, |builder| {
            let builder = builder.keys(2).linger(seconds(100));
            if per_key { builder.per_key() } else { builder }
        });
        rig.run();
        let Rig { plane, informers, heard, .. } = &rig;
        for place in ["p1", "p2", "p3"] {
            plane.put(thing(place, place, "one"));
        }
        let [first, second] = ["p1", "p2"].map(|place| informers.acquire(place.into()).unwrap());
        first.synced().await.unwrap();
        second.synced().await.unwrap();
        assert_eq!(informers.acquire("p3".into()).unwrap_err(), NotAcquired::TooMany { limit: 2 });
        drop(first);
        settled().await;
        assert_eq!((informers.read().len(), heard.take().len()), (2, 2));
        let third = informers.acquire("p3".into()).unwrap();
        assert_eq!(informers.read().count(&"p1".to_owned()), 0, "it is let go at once");
        third.synced().await.unwrap();
        settled().await;
        let told = heard.take();
        assert!(told.len() == 2 && told.contains(&"left default/p1@one".to_owned()), "{told:?}");
        assert_eq!(informers.state().keys, 2);
        drop((second, third));
        rig.stop().await;
    });
}

/// What a source has, and what does not become of it what it should.
#[derive(Clone, Debug)]
struct Raw(Thing);

#[derive(Debug)]
struct Cooked(Thing);

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
fn an_object_that_panics_hides_no_others() {
    both_roads(|per_key| async move {
        let place = Field::new(Thing::PLACE, |raw: &Raw| Some(raw.0.place.to_string())).unwrap();
        // Some come with a list, others on a watch.
        let can = if per_key { LISTS } else { Capabilities::ALL };
        let plane: Plane<Raw> = Plane::new(can, Fields::new([place]), |raw, version, _| {
            raw.0.version = Some(version);
        });
        let source: Arc<dyn ListWatch<Raw>> = Arc::new(plane.clone());
        let by = InterestBy::Field(Thing::PLACE.into());
        let find = |cooked: &Cooked| Some(cooked.0.place.to_string());
        let builder = KeyedInformers::<String, Cooked>::builder(source, by, find);
        let informers = if per_key { builder.per_key() } else { builder }.build();
        let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
        tasks.spawn(informers.run(stopping.clone()));
        for text in ["raw", "nameless", "ageless", "fine"] {
            plane.put(Raw(thing(&format!("{text}1"), "p", text)));
        }
        let held = informers.acquire("p".into()).unwrap();
        tokio::time::timeout(seconds(600), held.synced()).await.expect("it comes to be known").unwrap();
        for text in ["raw", "nameless", "ageless", "fine"] {
            plane.put(Raw(thing(&format!("{text}2"), "p", text)));
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
        assert_eq!(plane.asked().open, 0);
    });
}

/// A source whose watches are slow to end: they give the informers time to stop before.
#[derive(Clone, Default)]
struct Slow {
    watched: Arc<AtomicBool>,
    stopped: Arc<Mutex<Option<Receiver<()>>>>,
    ended: Arc<AtomicBool>,
}

struct Ending(Slow);

impl Stream for Ending {
    type Item = Result<WatchEvent<Thing>, WatchError>;

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
impl ListWatch<Thing> for Slow {
    fn capabilities(&self) -> Capabilities {
        Capabilities::LEAST
    }

    async fn list(&self, _: ListRequest) -> Result<Page<Thing>, ListError> {
        let version = Revision(1).into();
        Ok(Page { items: Vec::new(), unreadable: Vec::new(), version, rest: None, remaining: None })
    }

    async fn watch(&self, _: WatchRequest) -> Result<WatchStream<Thing>, WatchError> {
        Ok(Box::pin(Ending(self.clone())))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_they_have_stopped_no_stream_is_left() {
    let slow = Slow::default();
    let (stopped, waits) = channel();
    *slow.stopped.lock() = Some(waits);
    let source: Arc<dyn ListWatch<Thing>> = Arc::new(slow.clone());
    let by = InterestBy::Field(Thing::PLACE.into());
    let find = |thing: &Thing| Some(thing.place.to_string());
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
fn ten_thousand_interests_that_come_and_go_leave_nothing() {
    both_roads(|per_key| async move {
        let rig = rig(Capabilities::ALL, per_key);
        let Rig { plane, informers, .. } = &rig;
        for place in 0..50 {
            plane.put(thing(&format!("o{place}"), &format!("p{place}"), "one"));
        }
        let stays = informers.acquire("p0".into()).unwrap();
        stays.synced().await.unwrap();
        settled().await;
        let of = |rig: &Rig| {
            let (state, asked) = (rig.informers.state(), rig.plane.asked());
            let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
            ((state.keys, state.interests, state.names, state.streams), (asked.open, tasks), state.trouble)
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
