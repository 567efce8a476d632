//! The cache held against the source.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use machinery_informers::testing::{Fault, OnEvent, OnList, OnWatch, Plane, Thing};
use machinery_informers::{Builder, Informer, Limits};
use machinery_objects::{
    Capabilities, FieldTerm, Filter, ListError, ListRequest, ListWatch, NAME, ObjectKey, Page, WatchError,
    WatchRequest, WatchStream,
};
use machinery_sync::Mutex;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::support::{Heard, Rig, key, seconds, settled, unavailable, virtually};

const EVERY: Duration = Duration::from_secs(60);

fn audited(builder: &mut Builder<Thing>) {
    builder.audit(EVERY);
}

/// An event is lost, as no honest source does it: so many objects drift, and come back.
fn heals(lose: impl FnOnce(&Plane<Thing>), then: &str, told: &[&str]) {
    virtually(async {
        let plane = Plane::of_things(Capabilities::ALL);
        plane.put(Thing::new("a").says("one"));
        let rig = Rig::with(plane, audited);
        let heard = Heard::default();
        let handler = rig.informer.handle(heard.hears()).unwrap();
        handler.synced().await.unwrap();
        heard.take();
        rig.plane.once(Fault::Event(OnEvent::Lost));
        lose(&rig.plane);
        settled().await;
        assert_eq!(rig.has(), "a@one", "it was to be lost");
        rig.pass(EVERY * 2).await;
        assert_eq!(rig.has(), then);
        assert_eq!(heard.take(), told);
        let counts = rig.informer.state().counts;
        assert_eq!((counts.audits >= 1, counts.drifts), (true, 1));
        rig.stop().await;
    });
}

#[test]
fn a_lost_change_is_found_and_healed() {
    heals(|plane| drop(plane.put(Thing::new("a").says("two"))), "a@two", &["updated a@two"]);
}

#[test]
fn a_lost_deletion_is_found_and_healed() {
    heals(|plane| drop(plane.delete(&key("a"))), "", &["vanished a@one"]);
}

#[test]
fn a_lost_beginning_is_found_and_healed() {
    heals(|plane| drop(plane.put(Thing::new("b"))), "a@one b@", &["added b@"]);
}

/// Its lists are on the way for a while.
struct Far(Plane<Thing>);

#[async_trait]
impl ListWatch<Thing> for Far {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn list(&self, request: ListRequest) -> Result<Page<Thing>, ListError> {
        let page = self.0.list(request).await;
        sleep(Duration::from_millis(700)).await;
        page
    }

    async fn watch(&self, request: WatchRequest) -> Result<WatchStream<Thing>, WatchError> {
        self.0.watch(request).await
    }
}

#[test]
fn nothing_drifts_while_everything_changes() {
    virtually(async {
        let plane = Plane::of_things(Capabilities::ALL);
        let mut builder = Informer::<Thing>::builder(Arc::new(Far(plane.clone())));
        let mut limits = Limits::default();
        limits.page = NonZeroU32::new(3).unwrap();
        builder.limits(limits).audit(seconds(5)).seed(1);
        builder.filter(Filter { labels: "app=0".parse().unwrap(), ..Filter::default() });
        let informer = builder.build();
        let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
        tasks.spawn(informer.run(stopping.clone()));
        for number in 0..6_000_usize {
            let name = format!("thing-{}", number * 7 % 10);
            // By turns it is there, elsewhere, and gone.
            match number % 5 {
                4 => drop(plane.delete(&key(&name))),
                app => drop(plane.put(Thing::new(&name).labeled("app", &(app % 2).to_string()))),
            }
            sleep(Duration::from_millis(100)).await;
            if number % 100 == 0 {
                plane.bookmark();
            }
        }
        let counts = informer.state().counts;
        assert!(counts.audits > 20, "{counts:?}");
        assert_eq!(counts.drifts, 0, "{counts:?}");
        stopping.cancel();
        tasks.close();
        tasks.wait().await;
    });
}

#[test]
fn a_difference_that_the_source_cannot_confirm_is_none_yet() {
    virtually(async {
        let plane = Plane::of_things(Capabilities::ALL);
        plane.put(Thing::new("a").says("one"));
        let rig = Rig::with(plane, audited);
        rig.informer.synced().await.unwrap();
        rig.plane.once(Fault::Event(OnEvent::Lost));
        rig.plane.put(Thing::new("a").says("two"));
        // The list comes, and then nothing of the one object.
        rig.plane.once(Fault::List(OnList::Behind(0)));
        rig.plane.once(Fault::List(OnList::Fails(unavailable().into())));
        rig.pass(seconds(80)).await;
        let counts = rig.informer.state().counts;
        assert_eq!((counts.audits, counts.drifts, rig.has().as_str()), (1, 0, "a@one"));
        rig.pass(seconds(80)).await;
        let counts = rig.informer.state().counts;
        assert_eq!((counts.audits, counts.drifts, rig.has().as_str()), (2, 1, "a@two"));
        rig.stop().await;
    });
}

#[test]
fn an_audit_that_gets_no_answer_finds_nothing_and_goes_on() {
    virtually(async {
        let plane = Plane::of_things(Capabilities::ALL);
        plane.put(Thing::new("a"));
        let rig = Rig::with(plane, |builder| {
            let mut limits = Limits::default();
            limits.objects = 20;
            builder.limits(limits).audit(EVERY);
        });
        rig.informer.synced().await.unwrap();
        for fault in [
            Fault::List(OnList::NoAnswer),
            Fault::List(OnList::Fails(unavailable().into())),
            Fault::List(OnList::Endless),
        ] {
            rig.plane.once(fault);
        }
        rig.plane.always(Fault::Page(OnList::Endless));
        rig.pass(EVERY * 13).await; // the first of them takes ten minutes
        let counts = rig.informer.state().counts;
        assert_eq!((counts.audits, counts.drifts), (0, 0));
        rig.plane.behave();
        rig.pass(EVERY * 2).await;
        let counts = rig.informer.state().counts;
        assert!(counts.audits > 0);
        assert_eq!(counts.drifts, 0);
        rig.stop().await;
    });
}

/// Each was looked at for ten seconds, one after the other, and asked for.
#[test]
fn many_differences_are_judged_together_and_few_are_asked_for() {
    virtually(async {
        let rig = Rig::with(Plane::of_things(Capabilities::ALL), audited);
        rig.informer.synced().await.unwrap();
        (0..50).for_each(|_| rig.plane.once(Fault::Event(OnEvent::Lost)));
        (0..50).for_each(|number| drop(rig.plane.put(Thing::new(&format!("thing-{number}")))));
        rig.pass(EVERY + seconds(30)).await;
        assert_eq!(rig.informer.read().len(), 50);
        let (counts, lists) = (rig.informer.state().counts, rig.plane.asked().lists);
        assert_eq!((counts.audits, counts.drifts, lists), (1, 16, 1 + 16));
        rig.stop().await;
    });
}

/// It does not say how it has some of its objects, when it is asked for one; and it may list nothing.
struct Reticent {
    plane: Plane<Thing>,
    silent_of: usize,
    lists_nothing: bool,
    /// How often others had their turn, before each list from when they count.
    turns: Arc<AtomicUsize>,
    before: Arc<Mutex<Vec<usize>>>,
}

impl Reticent {
    fn new(plane: &Plane<Thing>) -> Self {
        let plane = plane.clone();
        Self { plane, silent_of: 0, lists_nothing: false, turns: Arc::default(), before: Arc::default() }
    }
}

#[async_trait]
impl ListWatch<Thing> for Reticent {
    fn capabilities(&self) -> Capabilities {
        self.plane.capabilities()
    }

    async fn list(&self, request: ListRequest) -> Result<Page<Thing>, ListError> {
        self.before.lock().push(self.turns.swap(0, Ordering::Relaxed));
        if let Some(term) = request.filter.fields.terms().first() {
            let is_silent_of = |number: usize| *term == FieldTerm::equals(NAME, &name_of(number)).unwrap();
            if (0..self.silent_of).any(is_silent_of) {
                return Err(unavailable().into());
            }
        }
        let mut page = self.plane.list(request).await?;
        if self.lists_nothing {
            (page.items, page.rest) = (Vec::new(), None);
        }
        Ok(page)
    }

    async fn watch(&self, request: WatchRequest) -> Result<WatchStream<Thing>, WatchError> {
        self.plane.watch(request).await
    }
}

fn name_of(number: usize) -> String {
    format!("thing-{number:05}")
}

/// One asked for the first sixteen each time, and the seventeenth never.
#[test]
fn who_differs_is_asked_for_though_others_differ_always() {
    virtually(async {
        let plane = Plane::of_things(Capabilities::ALL);
        let mut builder =
            Informer::<Thing>::builder(Arc::new(Reticent { silent_of: 40, ..Reticent::new(&plane) }));
        builder.audit(EVERY).seed(1);
        let rig = Rig { informer: builder.build(), ..Rig::idle(plane, |_| {}) };
        rig.run();
        rig.informer.synced().await.unwrap();
        (0..41).for_each(|_| rig.plane.once(Fault::Event(OnEvent::Lost)));
        (0..41).for_each(|number| drop(rig.plane.put(Thing::new(&name_of(number)))));
        rig.pass(EVERY * 2 + seconds(30)).await;
        let counts = rig.informer.state().counts;
        assert_eq!((counts.audits, counts.drifts, rig.informer.read().len()), (2, 0, 0));
        rig.pass(EVERY).await;
        let counts = rig.informer.state().counts;
        assert_eq!((counts.audits, counts.drifts, rig.informer.read().len()), (3, 1, 41));
        rig.stop().await;
    });
}

/// It held up its thread while it looked at all of a cache.
#[test]
fn a_look_at_a_large_cache_leaves_others_their_turn() {
    virtually(async {
        let plane = Plane::of_things(Capabilities::ALL);
        (0..10_000).for_each(|number| drop(plane.put(Thing::new(&name_of(number)))));
        let source = Reticent { lists_nothing: true, ..Reticent::new(&plane) };
        let (turns, before) = (source.turns.clone(), source.before.clone());
        let mut builder = Informer::<Thing>::builder(Arc::new(source));
        builder.audit(EVERY).seed(1);
        let rig = Rig { informer: builder.build(), ..Rig::idle(plane, |_| {}) };
        rig.run();
        rig.informer.synced().await.unwrap();
        let lists = before.clone();
        rig.tasks.spawn(async move {
            sleep(EVERY - Duration::from_millis(5)).await;
            // Time goes on only while everybody waits.
            while lists.lock().len() < 2 {
                turns.store(0, Ordering::Relaxed);
                sleep(Duration::from_millis(1)).await;
                for _ in 0..1000 {
                    turns.fetch_add(1, Ordering::Relaxed);
                    tokio::task::yield_now().await;
                }
            }
        });
        rig.pass(EVERY + seconds(5)).await;
        let [while_counted, while_compared, ..] = before.lock()[..] else {
            panic!("it was listed, and asked")
        };
        assert!(while_counted >= 10 && while_compared >= 20, "{while_counted} {while_compared}");
        rig.stop().await;
    });
}

/// It may be for this very difference that somebody wants all anew.
#[test]
fn while_all_comes_anew_nothing_is_judged() {
    let check = |renewed: Duration, lists| {
        virtually(async {
            let rig = Rig::with(Plane::of_things(Capabilities::ALL), audited);
            rig.informer.synced().await.unwrap();
            rig.plane.once(Fault::Event(OnEvent::Lost));
            rig.plane.put(Thing::new("a"));
            rig.pass(renewed).await;
            rig.plane.once(Fault::Watch(OnWatch::NoEnd));
            rig.informer.renew();
            sleep(EVERY + seconds(12) - renewed).await;
            let state = rig.informer.state();
            assert_eq!((state.trouble, rig.informer.read().len()), (None, 0), "it comes anew still");
            assert_eq!((state.counts.audits, state.counts.drifts, rig.plane.asked().lists), (0, 0, lists));
            rig.pass(EVERY * 3).await;
            let state = rig.informer.state();
            assert_eq!((state.counts.audits > 0, state.counts.drifts, rig.has().as_str()), (true, 0, "a@"));
            rig.stop().await;
        });
    };
    check(EVERY - seconds(3), 0);
    check(EVERY + seconds(3), 2); // it has been listed, and asked for
}

#[test]
fn while_there_is_trouble_nothing_is_judged() {
    virtually(async {
        let rig = Rig::with(Plane::of_things(Capabilities::ALL), audited);
        rig.informer.synced().await.unwrap();
        rig.plane.once(Fault::Event(OnEvent::Lost));
        rig.plane.put(Thing::new("a"));
        rig.pass(seconds(30)).await;
        rig.plane.always(Fault::Watch(OnWatch::Fails(unavailable().into())));
        rig.plane.end_watches();
        rig.pass(EVERY * 5).await;
        assert_eq!((rig.informer.state().counts.audits, rig.plane.asked().lists), (0, 0));
        rig.plane.behave();
        rig.pass(EVERY * 3).await;
        assert_eq!((rig.informer.state().counts.drifts, rig.has().as_str()), (1, "a@"));
        rig.stop().await;
    });
}

#[test]
fn who_comes_into_trouble_while_it_is_looked_at_is_not_judged() {
    virtually(async {
        let rig = Rig::with(Plane::of_things(Capabilities::ALL), audited);
        rig.informer.synced().await.unwrap();
        rig.plane.once(Fault::Event(OnEvent::Lost));
        rig.plane.put(Thing::new("a"));
        rig.pass(EVERY + seconds(3)).await;
        assert_eq!(rig.plane.asked().lists, 2, "it has been listed, and asked for");
        rig.plane.always(Fault::Watch(OnWatch::Fails(unavailable().into())));
        rig.plane.end_watches();
        rig.pass(EVERY).await;
        let counts = rig.informer.state().counts;
        assert_eq!((counts.audits, counts.drifts), (0, 0));
        rig.stop().await;
    });
}

/// The watch is dead, and nobody knows yet: it is begun again, and then nothing differs.
#[test]
fn a_cache_that_has_not_come_so_far_has_not_drifted() {
    virtually(async {
        let rig = Rig::with(Plane::of_things(Capabilities::ALL), audited);
        rig.informer.synced().await.unwrap();
        rig.plane.once(Fault::Event(OnEvent::Silent));
        rig.plane.put(Thing::new("a"));
        rig.pass(EVERY * 5).await;
        let counts = rig.informer.state().counts;
        assert_eq!((rig.has().as_str(), counts.drifts, rig.plane.asked().lists), ("a@", 0, counts.audits));
        assert!(counts.audits > 1);
        rig.stop().await;
    });
}

#[test]
fn an_object_without_a_name_has_not_drifted() {
    virtually(async {
        let plane = Plane::of_things(Capabilities::ALL);
        plane.put(Thing { key: ObjectKey::unnamed(), ..Thing::new("it-had-one") });
        plane.put(Thing::new("a"));
        let rig = Rig::with(plane, audited);
        rig.pass(EVERY * 5).await;
        let counts = rig.informer.state().counts;
        assert_eq!((counts.audits > 2, counts.drifts), (true, 0));
        rig.stop().await;
    });
}

#[test]
fn an_audit_without_a_pause_is_one_a_second() {
    virtually(async {
        let rig = Rig::with(Plane::of_things(Capabilities::ALL), |builder| {
            builder.audit(Duration::ZERO);
        });
        rig.pass(seconds(10)).await;
        let counts = rig.informer.state().counts;
        assert!((8..=10).contains(&counts.audits), "{counts:?}");
        rig.stop().await;
    });
}
