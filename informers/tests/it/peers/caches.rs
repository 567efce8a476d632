//! Known defects of caches elsewhere: projections, indexes, long reads and unreadable objects.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use machinery_informers::testing::{FakeSource, TestObject};
use machinery_informers::{Informer, Label, ReflectorLimits, Snapshot};
use machinery_objects::{Capabilities, Labels, Object, ObjectKey, ResourceVersion};
use machinery_sync::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::of;
use crate::support::{EventLog, InformerFixture, LISTS, key, seconds, settled, virtually};

/// I14: an object is projected once each time it is received, before it is visible.
#[test]
fn an_object_is_projected_once() {
    for can in [LISTS, Capabilities::ALL] {
        virtually(async {
            let fake = of(&["a", "b", "c"], can);
            let made = Arc::new(AtomicUsize::new(0));
            let makes = made.clone();
            let builder = Informer::projection(Arc::new(fake.clone()), move |thing: TestObject| {
                makes.fetch_add(1, Ordering::Relaxed);
                thing.with_text("kept")
            });
            let informer = builder.build();
            let log = EventLog::default();
            let _handler = informer.add_handler(log.recorder()).unwrap();
            let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
            tasks.spawn(informer.run(stopping.clone()));
            informer.synced().await.unwrap();
            fake.put(TestObject::new("a").with_text("more"));
            settled().await;
            assert_eq!(made.load(Ordering::Relaxed), 4);
            assert!(log.take().iter().all(|what| what.ends_with("@kept")));
            assert!(informer.read().iter().all(|(_, thing)| &*thing.text == "kept"));
            stopping.cancel();
            tasks.close();
            tasks.wait().await;
        });
    }
}

/// I15, kubernetes#84959: an object is once under each of its values; a value goes with its last
/// object.
#[test]
fn an_index_holds_each_value_once_and_drops_unused_ones() {
    virtually(async {
        let mut by_word = None;
        let rig = InformerFixture::with(FakeSource::of_test_objects(Capabilities::ALL), |builder| {
            let words = |thing: &TestObject| thing.text.split(' ').map(str::to_owned).collect::<Vec<_>>();
            by_word = Some(builder.index(words));
        });
        let by_word = by_word.unwrap();
        let values = || {
            let read = rig.informer.read();
            let all: (Bound<&str>, Bound<&str>) = (Bound::Unbounded, Bound::Unbounded);
            let values = read.values::<String, str>(&by_word, all);
            values.map(|(value, count)| format!("{value}:{count}")).collect::<Vec<_>>().join(" ")
        };
        rig.fake.put(TestObject::new("a").with_text("x y x"));
        rig.fake.put(TestObject::new("b").with_text("y z"));
        settled().await;
        assert_eq!(values(), "x:1 y:2 z:1");
        rig.fake.put(TestObject::new("a").with_text("z"));
        settled().await;
        assert_eq!(values(), "y:1 z:2");
        rig.fake.delete(&key("a"));
        rig.fake.delete(&key("b"));
        settled().await;
        assert_eq!(values(), "");
        rig.stop().await;
    });
}

/// controller-runtime#612, kube#1918: fields match by equality only. Here also by order, prefix and
/// label.
#[test]
fn objects_are_found_by_value_range_prefix_and_label() {
    virtually(async {
        let (mut by_key, mut by_label) = (None, None);
        let rig = InformerFixture::with(FakeSource::of_test_objects(Capabilities::ALL), |builder| {
            by_key = Some(builder.keys());
            by_label = Some(builder.labels());
        });
        let (by_key, by_label) = (by_key.unwrap(), by_label.unwrap());
        rig.fake.put(TestObject::new("n/a").at("rack-1").labeled("app", "web"));
        rig.fake.put(TestObject::new("n/b").at("rack-2").labeled("app", "db"));
        rig.fake.put(TestObject::new("nn/c").at("rack-3").labeled("tier", "web"));
        settled().await;
        let read = rig.informer.read();
        let rack = |number| Arc::from(format!("rack-{number}"));
        let names = |found: &mut dyn Iterator<Item = (&ObjectKey, &Arc<TestObject>)>| {
            found.map(|(key, _)| key.to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(&mut read.by(&rig.by_place, "rack-2")), "n/b");
        assert_eq!(names(&mut read.range::<Arc<str>, Arc<str>>(&rig.by_place, rack(2)..)), "n/b nn/c");
        assert_eq!(names(&mut read.range::<Arc<str>, Arc<str>>(&rig.by_place, ..rack(2))), "n/a");
        assert_eq!(names(&mut read.prefix(&by_key, "n/")), "n/a n/b");
        assert_eq!(names(&mut read.by(&by_label, &Label::new("app", "web"))), "n/a");
        assert_eq!(names(&mut read.range(&by_label, Label::any("app"))), "n/b n/a");
        drop(read);
        rig.stop().await;
    });
}

/// controller-runtime#1838: two indexes read one after the other may differ in their version.
#[test]
fn all_indexes_are_read_at_one_version() {
    virtually(async {
        let mut by_key = None;
        let rig = InformerFixture::with(FakeSource::of_test_objects(Capabilities::ALL), |builder| {
            by_key = Some(builder.keys())
        });
        let by_key = by_key.unwrap();
        rig.fake.put(TestObject::new("n/a").at("here"));
        rig.fake.put(TestObject::new("n/b").at("there"));
        settled().await;
        let counts = |read: &Snapshot<ObjectKey, Arc<TestObject>>| {
            (read.by(&rig.by_place, "here").count(), read.prefix(&by_key, "n/").count(), read.len())
        };
        let read = rig.informer.read();
        assert_eq!(read.by(&rig.by_place, "here").count(), 1);
        rig.fake.delete(&key("n/a"));
        settled().await;
        assert_eq!(counts(&read), (1, 2, 2));
        assert_eq!(counts(&rig.informer.read()), (0, 1, 1));
        drop(read);
        rig.stop().await;
    });
}

/// Elsewhere an index function panics under the lock of the store and poisons it.
#[test]
fn an_object_whose_index_function_panics_is_not_indexed() {
    virtually(async {
        let mut by_text = None;
        let rig = InformerFixture::with(FakeSource::of_test_objects(Capabilities::ALL), |builder| {
            by_text = Some(builder.index(|thing: &TestObject| {
                assert!(&*thing.text != "bad", "this one is bad");
                [thing.text.clone()]
            }));
        });
        let by_text = by_text.unwrap();
        rig.fake.put(TestObject::new("a").with_text("good"));
        rig.fake.put(TestObject::new("b").with_text("good"));
        settled().await;
        rig.fake.put(TestObject::new("b").with_text("bad"));
        rig.fake.put(TestObject::new("c").with_text("good"));
        settled().await;
        assert_eq!(rig.has(), "a@good b@bad c@good");
        assert_eq!(rig.informer.read().count(&by_text, "good"), 2);
        assert_eq!(rig.informer.read().count(&by_text, "bad"), 0);
        assert!(rig.informer.state().counts.index_panics > 0);
        rig.fake.put(TestObject::new("b").with_text("good"));
        settled().await;
        assert_eq!(rig.informer.read().count(&by_text, "good"), 3);
        rig.stop().await;
    });
}

/// kubernetes#130767: a slow reader blocked the writer.
#[test]
fn a_long_read_blocks_no_writer() {
    virtually(async {
        let rig = InformerFixture::synced(of(&["a", "b", "c"], Capabilities::ALL)).await;
        let before = rig.informer.read();
        let mut reading = before.iter();
        assert_eq!(reading.next().unwrap().0, &key("a"));
        for round in 0..100 {
            let token = rig.fake.put(TestObject::new("b").with_text(&round.to_string()));
            rig.informer.wait_for(&token, seconds(1)).await.unwrap();
        }
        rig.fake.delete(&key("c"));
        settled().await;
        assert_eq!(rig.has(), "a@ b@99");
        let rest: Vec<_> = reading.map(|(key, thing)| format!("{key}@{}", thing.text)).collect();
        assert_eq!(rest, ["b@", "c@"]);
        rig.stop().await;
    });
}

/// I7, client-go#843: a resync delivers all objects again. Here an unchanged object is the same
/// `Arc`, and is not delivered.
#[test]
fn a_relist_keeps_unchanged_objects_in_place() {
    for can in [LISTS, Capabilities::ALL, Capabilities::LEAST] {
        virtually(async {
            let rig = InformerFixture::synced(of(&["a", "b", "c"], can)).await;
            let log = EventLog::default();
            let _handler = rig.informer.add_handler(log.recorder()).unwrap();
            settled().await;
            log.take();
            let before = rig.informer.read();
            rig.fake.end_watches();
            rig.fake.put(TestObject::new("b").with_text("two"));
            rig.fake.compact();
            rig.informer.relist();
            rig.pass(seconds(60)).await;
            let after = rig.informer.read();
            for (name, same) in [("a", true), ("b", false), ("c", true)] {
                let [before, after] = [&before, &after].map(|read| read.get(&key(name)).unwrap());
                assert_eq!(Arc::ptr_eq(before, after), same, "{name}");
            }
            assert_eq!(log.take(), ["updated b@two"]);
            drop((before, after));
            rig.stop().await;
        });
    }
}

/// An object that counts its live instances and their maximum.
struct Counted(TestObject, Arc<Mutex<(usize, usize)>>);

impl Counted {
    fn new(thing: TestObject, alive: Arc<Mutex<(usize, usize)>>) -> Self {
        let mut counts = alive.lock();
        counts.0 += 1;
        counts.1 = counts.1.max(counts.0);
        drop(counts);
        Self(thing, alive)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.lock().0 -= 1;
    }
}

impl Object for Counted {
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

/// kubernetes#73497: a list that is collected as a whole needs the memory of all objects twice.
#[test]
fn an_unchanged_relist_needs_the_memory_of_a_page() {
    virtually(async {
        let fake = of(&["a", "b", "c", "d", "e", "f", "g", "h"], LISTS);
        let alive = Arc::new(Mutex::new((0, 0)));
        let counted = alive.clone();
        let keep = move |thing: TestObject| Counted::new(thing, counted.clone());
        let mut builder = Informer::projection(Arc::new(fake.clone()), keep);
        let mut limits = ReflectorLimits::default();
        limits.page = 2.try_into().unwrap();
        builder.limits(limits);
        let informer = builder.build();
        let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
        tasks.spawn(informer.run(stopping.clone()));
        informer.synced().await.unwrap();
        assert_eq!(alive.lock().0, 8);
        *alive.lock() = (8, 0);
        informer.relist();
        settled().await;
        assert_eq!((fake.calls().lists, fake.calls().listed), (2, 16));
        assert_eq!(*alive.lock(), (8, 10));
        stopping.cancel();
        tasks.close();
        tasks.wait().await;
    });
}

/// I11: client-go silently skips an event that it cannot process, such as an object without a name.
#[test]
fn an_object_without_a_name_is_reported_and_hides_no_other() {
    for can in [LISTS, Capabilities::ALL] {
        virtually(async {
            let nameless = || TestObject { key: ObjectKey::unnamed(), ..TestObject::new("it-had-one") };
            let fake = of(&["a", "b"], can);
            fake.put(nameless());
            let rig = InformerFixture::synced(fake).await;
            assert_eq!(rig.has(), "a@ b@");
            assert_eq!(rig.informer.state().unreadable.len(), 1);
            rig.fake.put(nameless().with_text("more"));
            rig.fake.put(TestObject::new("c"));
            rig.fake.delete(&ObjectKey::unnamed());
            settled().await;
            assert_eq!(rig.has(), "a@ b@ c@");
            assert_eq!(rig.informer.state().unreadable, []);
            rig.stop().await;
        });
    }
}

/// I11: an object that cannot be decoded is reported, and does not end its list or watch.
#[test]
fn an_unreadable_object_keeps_its_last_state() {
    for can in [LISTS, Capabilities::ALL] {
        virtually(async {
            let fake = of(&["a", "b"], can);
            fake.put_unreadable(TestObject::new("new"));
            let rig = InformerFixture::synced(fake).await;
            let log = EventLog::default();
            let _handler = rig.informer.add_handler(log.recorder()).unwrap();
            settled().await;
            assert_eq!(log.take().len(), 2);
            let unreadable = || {
                let unreadable = rig.informer.state().unreadable;
                unreadable.iter().map(|unreadable| unreadable.key.to_string()).collect::<Vec<_>>().join(" ")
            };
            rig.fake.put_unreadable(TestObject::new("a").with_text("odd"));
            settled().await;
            assert_eq!((rig.has().as_str(), unreadable().as_str()), ("a@ b@", "a new"));
            // A relist does not change that.
            rig.informer.relist();
            settled().await;
            assert_eq!((rig.has().as_str(), unreadable().as_str()), ("a@ b@", "a new"));
            rig.fake.put(TestObject::new("a").with_text("even"));
            rig.fake.delete(&key("new"));
            rig.fake.put_unreadable(TestObject::new("b").with_text("odd"));
            settled().await;
            rig.fake.delete(&key("b"));
            settled().await;
            assert_eq!((rig.has().as_str(), unreadable().as_str()), ("a@even", ""));
            assert_eq!(log.take(), ["updated a@even", "vanished b@"]);
            assert_eq!(rig.informer.state().trouble, None);
            rig.stop().await;
        });
    }
}
