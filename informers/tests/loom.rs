//! Loom models of concurrent operations, through the public API.
//!
//! Three threads (main is one of them) at preemption bound 3, one claim each.
#![cfg(machinery_loom)]

use loom::future::block_on;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use loom::thread;
use machinery_informers::deliver::{Change, Closed, Delivery, Events, Hub, Notification, Removal};
use machinery_informers::{Lookup, LookupMap, Model, Snapshot};
use machinery_objects::{Bookmark, Event, ObjectKey, Revision};
use machinery_snapshot::Map;
use machinery_sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

fn model(test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.max_branches = 10_000;
    builder.check(test);
}

/// A cache of numbers with its handlers.
struct LoomCache {
    map: Map<u8, u8>,
    hub: Hub<u8, u8>,
    /// A model has no clock.
    now: Instant,
}

impl LoomCache {
    fn new(objects: &[(u8, u8)]) -> Arc<Self> {
        let cache = Self { map: Map::builder(1).build(), hub: Hub::new(1), now: Instant::now() };
        for (key, object) in objects {
            cache.map.insert(*key, *object);
        }
        Arc::new(cache)
    }

    /// Sets or removes a key, and publishes the change.
    fn change(&self, key: u8, object: Option<u8>) {
        let mut publishing = self.hub.publishing();
        let mut writer = self.map.write();
        let before = match object {
            Some(object) => writer.insert(key, object),
            None => writer.remove(&key),
        };
        let change = match object {
            Some(object) => Change::Present { object, initial: false },
            None => Change::Removed {
                last: before.expect("it is there"),
                removal: Removal::Deleted { final_state_known: true },
            },
        };
        writer.commit();
        publishing.publish(self.now, &[Notification { key, before, change }]);
    }

    fn register(&self) -> Result<Events<u8, u8>, Closed> {
        let list = |all: &Snapshot<u8, u8>, initial: &mut dyn FnMut(&u8, &u8)| {
            all.iter().for_each(|(key, object)| initial(key, object));
        };
        self.hub.register(self.now, || self.map.snapshot(), list)
    }

    /// Publishes an initial object and the sync.
    fn sync(&self) {
        let change = Change::Present { object: 10, initial: true };
        let mut publishing = self.hub.publishing();
        self.map.insert(1, 10);
        publishing.publish(self.now, &[Notification { key: 1, before: None, change }]);
        publishing.mark(&Bookmark::Synced);
    }

    fn objects(&self) -> BTreeMap<u8, u8> {
        self.map.snapshot().iter().map(|(key, object)| (*key, *object)).collect()
    }
}

/// Applies a delivery, which must follow from the known state.
fn apply_delivery(known: &mut BTreeMap<u8, u8>, delivery: Delivery<u8, u8>) {
    match delivery {
        Delivery::Event(key, Event::Added { object, .. }) => {
            assert_eq!(known.insert(key, object), None, "it is delivered twice");
        }
        Delivery::Event(key, Event::Updated { old, object }) => {
            assert_eq!(known.insert(key, object), Some(old), "an event is missed, or delivered twice");
        }
        Delivery::Event(key, Event::Deleted { .. }) => {
            assert!(known.remove(&key).is_some(), "it is delivered twice");
        }
        Delivery::Event(_, event) => panic!("unexpected {event:?}"),
        Delivery::Mark(_) => {}
    }
}

fn apply_all(mut events: Events<u8, u8>) -> BTreeMap<u8, u8> {
    let mut known = BTreeMap::new();
    while let Some(delivery) = block_on(events.next()) {
        apply_delivery(&mut known, delivery);
    }
    known
}

#[test]
fn a_late_handler_misses_and_repeats_nothing() {
    model(|| {
        let cache = LoomCache::new(&[(1, 10), (2, 20)]);
        let changing = {
            let cache = cache.clone();
            thread::spawn(move || {
                cache.change(1, Some(11));
                cache.change(2, None);
                cache.change(3, Some(30));
                cache.hub.close();
            })
        };
        let known = cache.register().map(apply_all);
        changing.join().expect("it did not panic");
        match known {
            Ok(known) => assert_eq!(known, cache.objects()),
            Err(Closed) => assert!(cache.register().is_err(), "it stays closed"),
        }
    });
}

#[test]
fn two_late_handlers_register_concurrently() {
    model(|| {
        let cache = LoomCache::new(&[(1, 10)]);
        let spawn = |run: fn(&LoomCache)| {
            let cache = cache.clone();
            thread::spawn(move || run(&cache))
        };
        let other = spawn(|cache| {
            let mut events = cache.register().expect("it is open");
            let mut known = BTreeMap::new();
            while known.get(&1) != Some(&11) {
                let delivery = block_on(events.next()).expect("it is open");
                apply_delivery(&mut known, delivery);
            }
        });
        let changing = spawn(|cache| cache.change(1, Some(11)));
        drop(cache.register().expect("it is open"));
        other.join().expect("it did not panic");
        changing.join().expect("it did not panic");
        assert!(cache.hub.is_empty());
    });
}

#[test]
fn a_put_is_never_lost() {
    model(|| {
        let cache = LoomCache::new(&[]);
        let events = cache.register().expect("it is open");
        let changing = {
            let cache = cache.clone();
            thread::spawn(move || {
                cache.change(1, Some(10));
                cache.change(1, Some(11));
                cache.change(2, Some(20));
                cache.change(1, None);
                cache.hub.close();
            })
        };
        let known = apply_all(events);
        changing.join().expect("it did not panic");
        assert_eq!(known, cache.objects());
    });
}

#[test]
fn two_writers_are_delivered_in_cache_order() {
    model(|| {
        let cache = LoomCache::new(&[(1, 10)]);
        let mut events = cache.register().expect("it is open");
        let other = {
            let cache = cache.clone();
            thread::spawn(move || cache.change(1, Some(11)))
        };
        cache.change(1, Some(12));
        other.join().expect("it did not panic");
        cache.hub.close();
        let mut known = BTreeMap::new();
        while let Some(delivery) = block_on(events.next()) {
            apply_delivery(&mut known, delivery);
        }
        assert_eq!(known, cache.objects());
    });
}

#[test]
fn a_stop_fences_late_callbacks() {
    model(|| {
        let cache = LoomCache::new(&[(1, 10)]);
        let (calling, stopped) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (registration, running) = {
            let (calling, stopped) = (calling.clone(), stopped.clone());
            cache.register().expect("it is open").each(move |_| {
                calling.store(true, SeqCst);
                assert!(!stopped.load(SeqCst), "no call begins after the removal");
                calling.store(false, SeqCst);
            })
        };
        let handling = thread::spawn(move || block_on(running));
        let changing = {
            let cache = cache.clone();
            thread::spawn(move || cache.change(1, Some(11)))
        };
        block_on(registration.remove());
        assert!(!calling.load(SeqCst), "no call is running after the removal");
        stopped.store(true, SeqCst);
        changing.join().expect("it did not panic");
        handling.join().expect("it ends by itself");
    });
}

#[test]
fn concurrent_removal_and_drop_stop_the_handler() {
    model(|| {
        let cache = LoomCache::new(&[(1, 10)]);
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = calls.clone();
        let (registration, running) = cache.register().expect("it is open").each(move |_| {
            counted.fetch_add(1, SeqCst);
        });
        let handling = thread::spawn(move || block_on(running));
        let removal = registration.remove();
        let dropping = thread::spawn(move || drop(registration));
        block_on(removal);
        let called = calls.load(SeqCst);
        dropping.join().expect("it did not panic");
        handling.join().expect("it ends by itself");
        assert_eq!(calls.load(SeqCst), called);
        assert!(cache.hub.is_empty());
    });
}

#[test]
fn a_sync_waiter_sees_the_sync_or_the_close() {
    model(|| {
        let cache = LoomCache::new(&[]);
        let events = cache.register().expect("it is open");
        let handled = Arc::new(AtomicBool::new(false));
        let counted = handled.clone();
        let (registration, running) = events.each(move |delivery| {
            if let Delivery::Event(..) = delivery {
                counted.store(true, SeqCst);
            }
        });
        let handling = thread::spawn(move || block_on(running));
        let syncing = {
            let cache = cache.clone();
            thread::spawn(move || {
                cache.sync();
                cache.hub.close();
            })
        };
        assert_eq!(block_on(registration.synced()), Ok(()));
        assert!(handled.load(SeqCst), "the initial objects have been handled");
        syncing.join().expect("it did not panic");
        handling.join().expect("it ends by itself");
    });
}

#[test]
fn a_sync_wakes_its_waiter() {
    model(|| {
        let cache = LoomCache::new(&[]);
        let (registration, running) = cache.register().expect("it is open").each(|_| ());
        let handling = thread::spawn(move || block_on(running));
        let syncing = {
            let cache = cache.clone();
            thread::spawn(move || cache.sync())
        };
        assert_eq!(block_on(registration.synced()), Ok(()));
        cache.hub.close();
        syncing.join().expect("it did not panic");
        handling.join().expect("it ends by itself");
    });
}

#[test]
fn a_handler_registered_during_the_sync_syncs_once() {
    model(|| {
        let cache = LoomCache::new(&[]);
        let syncing = {
            let cache = cache.clone();
            thread::spawn(move || cache.sync())
        };
        let mut events = cache.register().expect("it is open");
        let mut heard = Vec::new();
        while heard.last() != Some(&Delivery::Mark(Bookmark::Synced)) {
            heard.push(block_on(events.next()).expect("it is open"));
        }
        syncing.join().expect("it did not panic");
        let added = Delivery::Event(1, Event::Added { object: 10, initial: true });
        assert_eq!(heard, [added, Delivery::Mark(Bookmark::Synced)]);
        cache.hub.close();
        assert_eq!(block_on(events.next()), None);
    });
}

#[test]
fn a_close_wakes_sync_waiters() {
    model(|| {
        let cache = LoomCache::new(&[]);
        let events = cache.register().expect("it is open");
        let (registration, running) = events.each(|_| ());
        let handling = thread::spawn(move || block_on(running));
        let closing = {
            let cache = cache.clone();
            thread::spawn(move || cache.hub.close())
        };
        assert_eq!(block_on(registration.synced()), Err(Closed));
        closing.join().expect("it did not panic");
        handling.join().expect("it ends by itself");
    });
}

fn name(text: &str) -> ObjectKey {
    text.parse().expect("it is a name")
}

/// A queue with capacity for one name, and a lookup map that adds changed names to it.
struct Lookups {
    map: LookupMap<char, u8>,
    queued: Arc<Mutex<bool>>,
    name: ObjectKey,
}

impl Lookups {
    /// Creates a map with an object under x, at version 1.
    fn new() -> Arc<Self> {
        let queued = Arc::new(Mutex::new(false));
        let queue = queued.clone();
        let map = LookupMap::new(1, move |_| *queue.lock() = true);
        let name = name("a");
        map.put(&'x', &name, 1, Some(Revision(1)));
        Arc::new(Self { map, queued, name })
    }

    /// A worker's turn: takes the name if it is queued, and looks it up.
    fn turn(&self) -> Option<(Lookup<char, u8>, Lookup<char, u8>)> {
        let queued = std::mem::take(&mut *self.queued.lock());
        queued.then(|| (self.map.lookup(&self.name), self.map.newest(&self.name)))
    }
}

fn unique(key: char, object: u8) -> Lookup<char, u8> {
    Lookup::Unique(key, object)
}

/// The object moves from x to y, and each informer receives its event on a thread of its own. A
/// worker that looks it up only on notification ends with the object under its new key.
#[test]
fn an_ambiguity_ends_with_a_notification() {
    model(|| {
        let lookups = Lookups::new();
        let spawn = |apply_delivery: fn(&Lookups)| {
            let lookups = lookups.clone();
            thread::spawn(move || apply_delivery(&lookups))
        };
        let adding = spawn(|lookups| lookups.map.put(&'y', &lookups.name, 2, Some(Revision(2))));
        let deleting = spawn(|lookups| lookups.map.remove(&'x', &lookups.name, Some(Revision(2))));
        let mut last = None;
        for _ in 0..2 {
            let Some((found, newest)) = lookups.turn() else { continue };
            let may_be = [unique('x', 1), Lookup::Ambiguous(vec!['x', 'y']), Lookup::Absent, unique('y', 2)];
            assert!(may_be.contains(&found), "{found:?}");
            assert_ne!(newest, Lookup::Ambiguous(vec!['x', 'y']), "versions say who has it");
            last = Some((found, newest));
        }
        adding.join().expect("it did not panic");
        deleting.join().expect("it did not panic");
        let last = lookups.turn().or(last);
        assert_eq!(last, Some((unique('y', 2), unique('y', 2))), "the last report follows the last change");
    });
}

/// As above, but the interest in x is released instead.
#[test]
fn a_release_ends_an_ambiguity_with_a_notification() {
    model(|| {
        let lookups = Lookups::new();
        let other = {
            let lookups = lookups.clone();
            thread::spawn(move || lookups.map.put(&'y', &lookups.name, 2, None))
        };
        let released = lookups.map.release(&'x');
        assert_eq!(released, [(lookups.name.clone(), 1)]);
        let last = lookups.turn();
        other.join().expect("it did not panic");
        let (found, _) = lookups.turn().or(last).expect("the release is reported");
        assert_eq!(found, unique('y', 2));
    });
}

#[test]
fn names_are_read_at_one_version() {
    model(|| {
        let lookups = Lookups::new();
        let another = name("b");
        lookups.map.put(&'x', &another, 5, Some(Revision(5)));
        let writing = {
            let lookups = lookups.clone();
            thread::spawn(move || {
                lookups.map.put(&'y', &lookups.name, 2, Some(Revision(2)));
                lookups.map.release(&'x');
            })
        };
        for _ in 0..2 {
            let read = lookups.map.read();
            let under = read.under(&'x').count();
            assert_eq!(under, read.count(&'x'), "the index is of the same moment");
            let both = (read.lookup(&lookups.name), read.lookup(&another));
            let may_be = match under {
                0 => both == (unique('y', 2), Lookup::Absent),
                2 => both.1 == unique('x', 5) && both.0 != Lookup::Absent,
                _ => false,
            };
            assert!(may_be, "all objects of a key are released at once: {both:?}");
        }
        writing.join().expect("it did not panic");
    });
}

/// Returns the view of a handler of closed keyed informers.
fn known(mut events: Events<(u8, ObjectKey), Arc<u8>>) -> BTreeMap<(u8, ObjectKey), u8> {
    let mut known = BTreeMap::new();
    block_on(async {
        while let Some(delivery) = events.next().await {
            match delivery {
                Delivery::Event(at, event) if event.is_present() => {
                    let was = known.insert(at, **event.object());
                    assert_eq!(was.is_some(), matches!(event, Event::Updated { .. }));
                }
                Delivery::Event(at, _) => assert!(known.remove(&at).is_some(), "it knows the object"),
                Delivery::Mark(_) => {}
            }
        }
    });
    known
}

#[test]
fn an_event_for_a_released_key_changes_nothing() {
    model(|| {
        let informers = Arc::new(Model::new(Instant::now()));
        let events = informers.events();
        let tenure = informers.acquire(17);
        let stream = {
            let informers = informers.clone();
            thread::spawn(move || {
                let first = informers.put(17, tenure, &name("a"), 1);
                let second = informers.put(17, tenure, &name("a"), 2);
                assert!(first || !second, "a tenure that is over does not come back");
            })
        };
        informers.release(17, tenure);
        assert!(matches!(informers.lookup(&name("a")), Lookup::Absent), "the release has let go");
        stream.join().expect("it does not panic");
        assert!(matches!(informers.lookup(&name("a")), Lookup::Absent), "and nothing came after it");
        informers.close();
        assert_eq!(known(events), BTreeMap::new(), "which was delivered");
    });
}

#[test]
fn an_acquire_during_the_last_release_gets_a_live_tenure() {
    model(|| {
        let informers = Arc::new(Model::new(Instant::now()));
        let first = informers.acquire(17);
        informers.put(17, first, &name("a"), 1);
        let other = {
            let informers = informers.clone();
            thread::spawn(move || informers.acquire(17))
        };
        informers.release(17, first);
        let second = other.join().expect("it does not panic");
        // Either the first tenure still existed and its object is found, or a new one began.
        let there = matches!(informers.lookup(&name("a")), Lookup::Unique(17, _));
        assert_eq!(there, first == second);
        assert!(informers.put(17, second, &name("a"), 2), "and it lives");
        assert_eq!(informers.take_changed(), [(17, Some(second))], "its stream is begun");
        informers.release(17, second);
        assert!(matches!(informers.lookup(&name("a")), Lookup::Absent));
    });
}

#[test]
fn an_object_moving_between_keys_is_finally_unambiguous() {
    model(|| {
        let informers = Arc::new(Model::new(Instant::now()));
        let (x, y) = (informers.acquire(1), informers.acquire(2));
        informers.put(1, x, &name("a"), 1);
        let events = informers.events();
        let mover = {
            let informers = informers.clone();
            thread::spawn(move || assert!(informers.put(2, y, &name("a"), 2)))
        };
        informers.release(1, x);
        let seen = informers.lookup(&name("a"));
        assert!(!matches!(seen, Lookup::Ambiguous(_)), "the one that was let go holds nothing: {seen:?}");
        mover.join().expect("it does not panic");
        assert!(matches!(informers.lookup(&name("a")), Lookup::Unique(2, _)));
        informers.close();
        assert_eq!(known(events), [((2, name("a")), 2)].into());
    });
}
