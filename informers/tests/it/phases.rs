//! The life of an informer: it is dropped, stopped, run twice, and left alone by its source, whenever that may be.

use std::sync::Arc;
use std::time::Duration;

use machinery_informers::testing::{Fault, OnEvent, OnList, OnWatch, Plane, Thing};
use machinery_informers::{Informer, Limits, Trouble};
use machinery_objects::{
    Capabilities, Labels, ListError, Object, ObjectKey, ResourceVersion, SourceError, WatchError,
};
use machinery_sync::Mutex;
use tokio::time::{Instant, sleep};

use crate::support::{Heard, LISTS, Rig, key, seconds, settled, unavailable, virtually};

#[test]
fn an_informer_that_never_runs_asks_nothing_and_ends_its_handlers() {
    virtually(async {
        let rig = Rig::idle(Plane::of_things(Capabilities::ALL), |_| {});
        let registration = rig.informer.handle(|_| {}).unwrap();
        let mut events = rig.informer.events().unwrap();
        settled().await;
        let Rig { plane, informer, .. } = rig;
        assert!(!informer.is_synced());
        drop(informer);
        assert!(registration.synced().await.is_err());
        assert_eq!(events.next().await, None);
        assert_eq!((plane.asked().lists, plane.asked().watches), (0, 0));
    });
}

#[test]
fn an_informer_runs_once() {
    virtually(async {
        let rig = Rig::synced(Plane::of_things(Capabilities::ALL)).await;
        rig.informer.run(rig.stopping.clone()).await; // it returns
        rig.plane.put(Thing::new("a"));
        settled().await;
        assert_eq!(rig.has(), "a@");
        assert_eq!(rig.plane.asked().open, 1);
        rig.stop().await;
    });
}

#[test]
fn who_waits_for_a_run_that_is_dropped_is_told() {
    virtually(async {
        let plane = Plane::of_things(Capabilities::ALL);
        plane.always(Fault::Watch(OnWatch::NoAnswer));
        let rig = Rig::idle(plane, |_| {});
        let registration = rig.informer.handle(|_| {}).unwrap();
        let run = rig.informer.run(rig.stopping.clone());
        assert!(tokio::time::timeout(seconds(5), run).await.is_err());
        assert!(rig.informer.synced().await.is_err());
        assert!(registration.synced().await.is_err());
        assert!(rig.informer.handle(|_| {}).is_err());
        rig.stop().await;
    });
}

#[test]
fn it_stops_in_every_phase_and_leaves_nothing() {
    let faults: [(&str, Capabilities, &[Fault]); 9] = [
        ("it waits", LISTS, &[Fault::List(OnList::Fails(ListError::Source(SourceError::TimedOut)))]),
        ("it lists", LISTS, &[Fault::List(OnList::NoAnswer)]),
        ("it lists a page", LISTS, &[Fault::Page(OnList::NoAnswer)]),
        ("it lists for ever", LISTS, &[Fault::Page(OnList::Endless)]),
        ("it opens", Capabilities::ALL, &[Fault::Watch(OnWatch::NoAnswer)]),
        ("it hears the state", Capabilities::ALL, &[Fault::Watch(OnWatch::NoEnd)]),
        ("it hears nothing", Capabilities::ALL, &[Fault::Event(OnEvent::Silent)]),
        ("its watches end", Capabilities::ALL, &[Fault::Watch(OnWatch::EndsAtOnce)]),
        ("it watches", Capabilities::ALL, &[]),
    ];
    for (phase, can, faults) in faults {
        for after in [0, 1, 20] {
            virtually(async {
                let plane = Plane::of_things(can);
                ["a", "b", "c"].iter().for_each(|name| drop(plane.put(Thing::new(name))));
                faults.iter().for_each(|fault| plane.always(fault.clone()));
                let rig = Rig::with(plane, |builder| {
                    let mut limits = Limits::default();
                    limits.page = 2.try_into().unwrap();
                    limits.objects = 20;
                    builder.limits(limits).audit(seconds(3));
                });
                let heard = Heard::default();
                let registration = rig.informer.handle(heard.hears()).unwrap();
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

/// An object whose end reads the cache that it was in.
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
            let _ = informer.handle(|_| {});
        }
    }
}

#[test]
fn the_end_of_an_object_may_use_the_informer() {
    virtually(async {
        let plane = Plane::of_things(Capabilities::ALL);
        let home = Home::default();
        let its = home.clone();
        let mut builder = Informer::projection(Arc::new(plane.clone()), move |thing: Thing| Loud {
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
        plane.put(Thing::new("d")); // it stays as it is
        for handlers in [false, true] {
            let registration = handlers.then(|| informer.handle(|_| {}).unwrap());
            for round in 0..3 {
                for name in ["a", "b", "c"] {
                    plane.put(Thing::new(name));
                    settled().await;
                }
                plane.delete(&key("a"));
                settled().await;
                // All of it anew, with something that has vanished.
                plane.end_watches();
                plane.delete(&key("b"));
                plane.put(Thing::new("c").says("more"));
                plane.compact();
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
fn a_source_that_lists_for_ever_leaves_the_cache_as_it_was() {
    virtually(async {
        let plane = Plane::of_things(LISTS);
        plane.put(Thing::new("a"));
        let rig = Rig::with(plane, |builder| {
            let mut limits = Limits::default();
            limits.objects = 50;
            builder.limits(limits);
        });
        rig.informer.synced().await.unwrap();
        for endless in [OnList::Endless, OnList::Empty] {
            rig.plane.always(Fault::List(endless.clone()));
            rig.plane.always(Fault::Page(endless));
            rig.informer.renew();
            rig.pass(seconds(600)).await;
            let state = rig.informer.state();
            assert!(matches!(state.trouble, Some(Trouble::Endless { .. })), "{state:?}");
            assert_eq!(rig.has(), "a@");
        }
        rig.plane.behave();
        rig.plane.put(Thing::new("b"));
        rig.pass(seconds(60)).await;
        assert_eq!((rig.has().as_str(), rig.informer.state().trouble), ("a@ b@", None));
        rig.stop().await;
    });
}

/// kubernetes#79610: an informer of a kind that was removed asked again and again, for ever.
#[test]
fn a_kind_that_is_not_served_for_long_is_asked_for_rarely_and_found_when_it_is() {
    for can in [LISTS, Capabilities::ALL] {
        virtually(async {
            let plane = Plane::of_things(can);
            plane.put(Thing::new("a"));
            let missing = || SourceError::NotServed { reason: "no such kind".into() };
            plane.always(Fault::List(OnList::Fails(missing().into())));
            plane.always(Fault::Watch(OnWatch::Fails(missing().into())));
            let rig = Rig::with(plane, |_| {});
            rig.pass(seconds(3600)).await;
            let asked = rig.plane.asked();
            assert!(asked.lists + asked.watches < 300, "{asked:?}");
            let trouble = rig.informer.state().trouble;
            assert_eq!(trouble, Some(Trouble::List(missing().into())));
            assert!(!rig.informer.is_synced());
            rig.plane.behave();
            let began = Instant::now();
            rig.informer.synced().await.unwrap();
            assert!(began.elapsed() <= seconds(31));
            settled().await;
            assert_eq!((rig.has().as_str(), rig.informer.state().trouble), ("a@", None));
            rig.stop().await;
        });
    }
}

/// kube#1132, kubernetes#129201: who may list and not watch was in a loop without a pause.
#[test]
fn who_may_list_and_not_watch_asks_rarely_and_has_what_was_listed() {
    virtually(async {
        let plane = Plane::of_things(Capabilities::ALL);
        plane.put(Thing::new("a"));
        let forbidden = SourceError::Forbidden { reason: "watch".into() };
        plane.always(Fault::Watch(OnWatch::Fails(forbidden.clone().into())));
        let rig = Rig::with(plane, |_| {});
        rig.pass(seconds(600)).await;
        assert_eq!(rig.has(), "a@");
        let asked = rig.plane.asked();
        assert_eq!(asked.lists, 1);
        assert!(asked.watches < 60, "{asked:?}");
        assert_eq!(rig.informer.state().trouble, Some(Trouble::Watch(WatchError::Source(forbidden))));
        rig.plane.behave();
        rig.plane.put(Thing::new("b"));
        rig.pass(seconds(31)).await;
        assert_eq!(rig.has(), "a@ b@");
        rig.stop().await;
    });
}

#[test]
fn how_old_the_cache_may_be_is_known() {
    virtually(async {
        let rig = Rig::synced(Plane::of_things(Capabilities::ALL)).await;
        sleep(seconds(40)).await;
        assert_eq!(rig.informer.state().silent_for, seconds(40));
        rig.plane.bookmark();
        settled().await;
        assert!(rig.informer.state().silent_for < Duration::from_millis(10));
        // A source that is not there is silent, however often it is asked.
        rig.plane.always(Fault::Watch(OnWatch::Fails(unavailable().into())));
        rig.plane.end_watches();
        sleep(seconds(300)).await;
        assert!(rig.informer.state().silent_for >= seconds(290));
        rig.stop().await;
    });
}
