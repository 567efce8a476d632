//! Panics in code of the program: objects, projections and keys. Each affects only its own object.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use machinery_informers::testing::{FakeSource, TestObject};
use machinery_informers::{AcquireError, Builder, Informer, KeyedInformers, ReflectorError};
use machinery_objects::{
    Capabilities, InterestBy, Labels, ListWatch, Object, ObjectKey, ResourceVersion, SourceError, WatchError,
};
use machinery_sync::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::support::{LISTS, key, seconds, settled, virtually};

/// An object that panics where its text says so.
struct Odd(TestObject);

impl Object for Odd {
    fn key(&self) -> ObjectKey {
        assert!(&*self.0.text != "key", "this one does not know its name");
        self.0.key()
    }
    fn version(&self) -> Option<ResourceVersion> {
        assert!(&*self.0.text != "version", "this one does not know its version");
        self.0.version()
    }
    fn labels(&self) -> Labels {
        self.0.labels()
    }
}

/// Returns an informer with a projection that panics for some objects.
fn projection(fake: &FakeSource<TestObject>) -> Builder<Odd> {
    Informer::projection(Arc::new(fake.clone()), |thing: TestObject| {
        assert!(&*thing.text != "projection", "this one is not to be");
        Odd(thing)
    })
}

/// Changes `b` to this text. `delivered` is the cached text after the event, `listed` that after
/// a relist, and `known_as` the name under which it is unreadable. `a` and `c` are unaffected.
fn odd(what: &str, delivered: Option<&str>, listed: Option<&str>, known_as: &str) {
    for can in [LISTS, Capabilities::ALL] {
        virtually(async {
            let fake = FakeSource::of_test_objects(can);
            ["a", "b", "c"].iter().for_each(|name| drop(fake.put(TestObject::new(name).with_text("one"))));
            let mut builder = projection(&fake);
            builder.drift_check(seconds(20));
            let informer = builder.build();
            let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
            tasks.spawn(informer.run(stopping.clone()));
            let log = Arc::new(Mutex::new(Vec::new()));
            let recorder = log.clone();
            let _handler =
                informer.add_handler(move |event| recorder.lock().push(event.object().0.key.to_string()));
            informer.synced().await.unwrap();
            let text = |name| informer.get(&key(name)).map(|odd| odd.0.text.to_string());
            let is_odd = |of_b: Option<&str>, times: u64| {
                assert_eq!(text("b").as_deref(), of_b, "{what}");
                let state = informer.state();
                let names: Vec<_> = state.unreadable.iter().map(|odd| odd.key.to_string()).collect();
                assert_eq!(
                    (names.as_slice(), state.trouble),
                    ([known_as.to_owned()].as_slice(), None),
                    "{what}"
                );
                assert_eq!(state.counts.unreadable, times, "{what}");
            };
            // By an event: the last state is kept.
            fake.put(TestObject::new("b").with_text(what));
            fake.put(TestObject::new("c").with_text("two"));
            settled().await;
            assert_eq!(text("c").unwrap(), "two");
            is_odd(delivered, 1);
            // By a relist: kept if the name is known.
            informer.relist();
            settled().await;
            fake.put(TestObject::new("c").with_text("three"));
            settled().await;
            assert_eq!((text("a").unwrap(), text("c").unwrap()), ("one".into(), "three".into()));
            is_odd(listed, 2);
            // It is no drift either.
            tokio::time::sleep(seconds(60)).await;
            assert_eq!(informer.state().counts.drifts, 0, "{what}");
            // It is deleted, and created again without the panic.
            fake.delete(&key("b"));
            fake.put(TestObject::new("b").with_text("four"));
            settled().await;
            assert_eq!((text("b").unwrap(), informer.state().unreadable.len()), ("four".into(), 0), "{what}");
            assert!(log.lock().len() > 4);
            stopping.cancel();
            tasks.close();
            tasks.wait().await;
        });
    }
}

#[test]
fn an_object_whose_version_panics_keeps_its_cached_state() {
    odd("version", Some("one"), Some("one"), "b");
}

#[test]
fn an_object_whose_projection_panics_keeps_its_cached_state() {
    odd("projection", Some("one"), Some("one"), "b");
}

/// The name is unknown, so a relist deletes the object.
#[test]
fn an_object_whose_name_panics_stops_nothing() {
    odd("key", Some("one"), None, "(unnamed)");
}

/// A key with a text that panics for the second key, if the test says so.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Moody(u32);

static IN_THAT_MOOD: AtomicBool = AtomicBool::new(false);

impl fmt::Display for Moody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        assert!(self.0 != 2 || !IN_THAT_MOOD.load(Ordering::Relaxed), "it does not say");
        write!(f, "p{}", self.0)
    }
}

#[test]
fn a_key_whose_text_panics_blocks_no_others() {
    for per_key in [false, true] {
        virtually(async {
            let fake = FakeSource::of_test_objects(Capabilities::ALL);
            let source: Arc<dyn ListWatch<TestObject>> = Arc::new(fake.clone());
            let by = InterestBy::Field(TestObject::PLACE.into());
            let find = |thing: &TestObject| thing.place[1..].parse().ok().map(Moody);
            let builder = KeyedInformers::<Moody, TestObject>::builder(source, by, find);
            let informers = if per_key { builder.per_key() } else { builder }.build();
            let put = |number: u32, text: &str| {
                let thing = TestObject::new(&format!("o{number}")).at(&format!("p{number}")).with_text(text);
                fake.put(thing);
            };
            let says = |number: u32| {
                let read = informers.read();
                read.under(&Moody(number)).map(|(_, thing)| thing.text.to_string()).collect::<String>()
            };
            (1..=4).for_each(|number| put(number, "one"));
            let moody = |is_so| IN_THAT_MOOD.store(is_so, Ordering::Relaxed);
            let mut held: Vec<_> = (1..=3).map(|number| informers.acquire(Moody(number)).unwrap()).collect();
            moody(true);
            let unselectable = informers.acquire(Moody(2)).unwrap_err();
            assert!(matches!(unselectable, AcquireError::Unselectable { .. }), "{unselectable:?}");
            let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
            tasks.spawn(informers.run(stopping.clone()));
            tokio::time::sleep(seconds(100)).await;
            let trouble = informers.state().trouble;
            let Some(ReflectorError::Watch(WatchError::Source(SourceError::Invalid { .. }))) = trouble else {
                panic!("{trouble:?}")
            };
            held.push(informers.acquire(Moody(4)).unwrap());
            settled().await;
            let synced: Vec<_> = held.iter().map(|interest| interest.is_synced()).collect();
            assert_eq!(synced, [true, false, true, true], "by a stream each: {per_key}");
            put(3, "two");
            settled().await;
            assert_eq!((says(2).as_str(), says(3).as_str()), ("", "two"));
            // The text works again when it is retried, but not on removal.
            moody(false);
            tokio::time::sleep(seconds(100)).await;
            assert_eq!((says(2).as_str(), informers.state().trouble), ("one", None));
            moody(true);
            drop(held.remove(1));
            put(3, "three");
            put(1, "three");
            tokio::time::sleep(seconds(100)).await;
            assert_eq!((says(1).as_str(), says(2).as_str(), says(3).as_str()), ("three", "", "three"));
            let state = informers.state();
            assert_eq!((state.complete, state.trouble), (3, None));
            moody(false);
            drop(held);
            stopping.cancel();
            tasks.close();
            tasks.wait().await;
            assert_eq!(fake.calls().open_watches, 0);
        });
    }
}
