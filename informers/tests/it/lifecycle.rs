//! The life cycle of an informer: dropped, stopped, run twice, or without a working source.

use std::sync::Arc;
use std::time::Duration;

use machinery_informers::testing::{FakeSource, Fault, OnEvent, OnList, OnWatch, TestObject};
use machinery_informers::{Informer, ReflectorError, ReflectorLimits};
use machinery_objects::{
    Capabilities, Labels, ListError, Object, ObjectKey, ResourceVersion, SourceError, WatchError,
};
use machinery_sync::Mutex;
use tokio::time::{Instant, sleep};

use crate::support::{EventLog, InformerFixture, LISTS, key, seconds, settled, unavailable, virtually};

#[test]
fn an_informer_that_never_runs_sends_no_request_and_stops_its_handlers() {
    virtually(async {
        let rig = InformerFixture::idle(FakeSource::of_test_objects(Capabilities::ALL), |_| {});
        let registration = rig.informer.add_handler(|_| {}).unwrap();
        let mut events = rig.informer.events().unwrap();
        settled().await;
        let InformerFixture { fake, informer, .. } = rig;
        assert!(!informer.is_synced());
        drop(informer);
        assert!(registration.synced().await.is_err());
        assert_eq!(events.next().await, None);
        assert_eq!((fake.calls().lists, fake.calls().watches), (0, 0));
    });
}

#[test]
fn an_informer_runs_once() {
    virtually(async {
        let rig = InformerFixture::synced(FakeSource::of_test_objects(Capabilities::ALL)).await;
        rig.informer.run(rig.stopping.clone()).await; // returns at once
        rig.fake.put(TestObject::new("a"));
        settled().await;
        assert_eq!(rig.has(), "a@");
        assert_eq!(rig.fake.calls().open_watches, 1);
        rig.stop().await;
    });
}

#[test]
fn dropping_the_run_wakes_waiters() {
    virtually(async {
        let fake = FakeSource::of_test_objects(Capabilities::ALL);
        fake.always(Fault::Watch(OnWatch::NoAnswer));
        let rig = InformerFixture::idle(fake, |_| {});
        let registration = rig.informer.add_handler(|_| {}).unwrap();
        let run = rig.informer.run(rig.stopping.clone());
        assert!(tokio::time::timeout(seconds(5), run).await.is_err());
        assert!(rig.informer.synced().await.is_err());
        assert!(registration.synced().await.is_err());
        assert!(rig.informer.add_handler(|_| {}).is_err());
        rig.stop().await;
    });
}

#[test]
fn an_informer_stops_in_every_phase_and_leaves_nothing() {
    let faults: [(&str, Capabilities, &[Fault]); 9] = [
        ("it waits", LISTS, &[Fault::List(OnList::Fails(ListError::Source(SourceError::TimedOut)))]),
        ("it lists", LISTS, &[Fault::List(OnList::NoAnswer)]),
        ("it lists a page", LISTS, &[Fault::Page(OnList::NoAnswer)]),
        ("it lists for ever", LISTS, &[Fault::Page(OnList::Endless)]),
        ("it opens", Capabilities::ALL, &[Fault::Watch(OnWatch::NoAnswer)]),
        ("it receives the state", Capabilities::ALL, &[Fault::Watch(OnWatch::NoEnd)]),
        ("it receives nothing", Capabilities::ALL, &[Fault::Event(OnEvent::Silent)]),
        ("its watches end", Capabilities::ALL, &[Fault::Watch(OnWatch::EndsAtOnce)]),
        ("it watches", Capabilities::ALL, &[]),
    ];
    for (phase, can, faults) in faults {
        for after in [0, 1, 20] {
            virtually(async {
                let fake = FakeSource::of_test_objects(can);
                ["a", "b", "c"].iter().for_each(|name| drop(fake.put(TestObject::new(name))));
                faults.iter().for_each(|fault| fake.always(fault.clone()));
                let rig = InformerFixture::with(fake, |builder| {
                    let mut limits = ReflectorLimits::default();
                    limits.page = 2.try_into().unwrap();
                    limits.objects = 20;
                    builder.limits(limits).drift_check(seconds(3));
                });
                let log = EventLog::default();
                let registration = rig.informer.add_handler(log.recorder()).unwrap();
                let synced = rig.informer.clone();
                let synced = rig.tasks.spawn(async move { synced.synced().await.is_ok() });
                sleep(seconds(after)).await;
                let is_synced = rig.informer.is_synced();
                assert!(is_synced || phase != "it watches" || after == 0, "{phase}");
                rig.stop().await;
                assert_eq!(synced.await.unwrap(), is_synced, "{phase}");
                assert_eq!(registration.synced().await.is_ok(), is_synced, "{phase}");
            });
        }
    }
}

/// An object that reads, in its drop, the cache that held it.
struct Loud {
    key: ObjectKey,
    version: Option<ResourceVersion>,
    home: Home,
}

type Home = Arc<Mutex<Option<Informer<Loud>>>>;

impl Object for Loud {
    fn key(&self) -> ObjectKey {
        self.key.clone()
    }
    fn version(&self) -> Option<ResourceVersion> {
        self.version.clone()
    }
    fn labels(&self) -> Labels {
        Labels::default()
    }
}

impl Drop for Loud {
    fn drop(&mut self) {
        let informer = self.home.lock().clone();
        if let Some(informer) = informer {
            informer.read().get(&self.key);
            assert!(informer.state().objects < 100);
            let _ = informer.add_handler(|_| {});
        }
    }
}

#[test]
fn the_drop_of_an_object_may_use_the_informer() {
    virtually(async {
        let fake = FakeSource::of_test_objects(Capabilities::ALL);
        let home = Home::default();
        let its = home.clone();
        let mut builder = Informer::projection(Arc::new(fake.clone()), move |thing: TestObject| Loud {
            key: thing.key,
            version: thing.version,
            home: its.clone(),
        });
        builder.seed(3);
        let informer = builder.build();
        *home.lock() = Some(informer.clone());
        let (tasks, stopping) =
            (tokio_util::task::TaskTracker::new(), tokio_util::sync::CancellationToken::new());
        tasks.spawn(informer.run(stopping.clone()));
        informer.synced().await.unwrap();
        fake.put(TestObject::new("d")); // stays unchanged
        for handlers in [false, true] {
            let registration = handlers.then(|| informer.add_handler(|_| {}).unwrap());
            for round in 0..3 {
                for name in ["a", "b", "c"] {
                    fake.put(TestObject::new(name));
                    settled().await;
                }
                fake.delete(&key("a"));
                settled().await;
                // A relist in which an object has vanished.
                fake.end_watches();
                fake.delete(&key("b"));
                fake.put(TestObject::new("c").with_text("more"));
                fake.compact();
                sleep(seconds(60)).await;
                assert_eq!(informer.read().len(), 2, "round {round}");
            }
            drop(registration);
        }
        stopping.cancel();
        tasks.close();
        tasks.wait().await;
        let last = home.lock().take();
        drop(last);
    });
}

#[test]
fn an_endless_list_leaves_the_cache_unchanged() {
    virtually(async {
        let fake = FakeSource::of_test_objects(LISTS);
        fake.put(TestObject::new("a"));
        let rig = InformerFixture::with(fake, |builder| {
            let mut limits = ReflectorLimits::default();
            limits.objects = 50;
            builder.limits(limits);
        });
        rig.informer.synced().await.unwrap();
        for endless in [OnList::Endless, OnList::Empty] {
            rig.fake.always(Fault::List(endless.clone()));
            rig.fake.always(Fault::Page(endless));
            rig.informer.relist();
            rig.pass(seconds(600)).await;
            let state = rig.informer.state();
            assert!(matches!(state.trouble, Some(ReflectorError::Endless { .. })), "{state:?}");
            assert_eq!(rig.has(), "a@");
        }
        rig.fake.clear_faults();
        rig.fake.put(TestObject::new("b"));
        rig.pass(seconds(60)).await;
        assert_eq!((rig.has().as_str(), rig.informer.state().trouble), ("a@ b@", None));
        rig.stop().await;
    });
}

/// kubernetes#79610: an informer of a removed kind retried without end.
#[test]
fn a_kind_that_is_not_served_is_polled_rarely_and_found_when_served() {
    for can in [LISTS, Capabilities::ALL] {
        virtually(async {
            let fake = FakeSource::of_test_objects(can);
            fake.put(TestObject::new("a"));
            let missing = || SourceError::NotServed { reason: "no such kind".into() };
            fake.always(Fault::List(OnList::Fails(missing().into())));
            fake.always(Fault::Watch(OnWatch::Fails(missing().into())));
            let rig = InformerFixture::with(fake, |_| {});
            rig.pass(seconds(3600)).await;
            let calls = rig.fake.calls();
            assert!(calls.lists + calls.watches < 300, "{calls:?}");
            let trouble = rig.informer.state().trouble;
            assert_eq!(trouble, Some(ReflectorError::List(missing().into())));
            assert!(!rig.informer.is_synced());
            rig.fake.clear_faults();
            let began = Instant::now();
            rig.informer.synced().await.unwrap();
            assert!(began.elapsed() <= seconds(31));
            settled().await;
            assert_eq!((rig.has().as_str(), rig.informer.state().trouble), ("a@", None));
            rig.stop().await;
        });
    }
}

/// kube#1132, kubernetes#129201: a client with permission to list but not to watch was in a hot
/// loop.
#[test]
fn list_without_watch_permission_polls_rarely_and_keeps_the_list() {
    virtually(async {
        let fake = FakeSource::of_test_objects(Capabilities::ALL);
        fake.put(TestObject::new("a"));
        let forbidden = SourceError::Forbidden { reason: "watch".into() };
        fake.always(Fault::Watch(OnWatch::Fails(forbidden.clone().into())));
        let rig = InformerFixture::with(fake, |_| {});
        rig.pass(seconds(600)).await;
        assert_eq!(rig.has(), "a@");
        let calls = rig.fake.calls();
        assert_eq!(calls.lists, 1);
        assert!(calls.watches < 60, "{calls:?}");
        assert_eq!(rig.informer.state().trouble, Some(ReflectorError::Watch(WatchError::Source(forbidden))));
        rig.fake.clear_faults();
        rig.fake.put(TestObject::new("b"));
        rig.pass(seconds(31)).await;
        assert_eq!(rig.has(), "a@ b@");
        rig.stop().await;
    });
}

#[test]
fn the_age_of_the_cache_is_reported() {
    virtually(async {
        let rig = InformerFixture::synced(FakeSource::of_test_objects(Capabilities::ALL)).await;
        sleep(seconds(40)).await;
        assert_eq!(rig.informer.state().silent_for, seconds(40));
        rig.fake.bookmark();
        settled().await;
        assert!(rig.informer.state().silent_for < Duration::from_millis(10));
        // An unavailable source is silent, however often it is polled.
        rig.fake.always(Fault::Watch(OnWatch::Fails(unavailable().into())));
        rig.fake.end_watches();
        sleep(seconds(300)).await;
        assert!(rig.informer.state().silent_for >= seconds(290));
        rig.stop().await;
    });
}
