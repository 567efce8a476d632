//! Drift checks: the cache compared with the source.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use machinery_informers::testing::{FakeSource, Fault, OnEvent, OnList, OnWatch, TestObject};
use machinery_informers::{Builder, Informer, ReflectorLimits};
use machinery_objects::{
    Capabilities, FieldTerm, Filter, ListError, ListRequest, ListWatch, NAME, ObjectKey, Page, WatchError,
    WatchRequest, WatchStream,
};
use machinery_sync::Mutex;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::support::{EventLog, InformerFixture, key, seconds, settled, unavailable, virtually};

const EVERY: Duration = Duration::from_secs(60);

fn audited(builder: &mut Builder<TestObject>) {
    builder.drift_check(EVERY);
}

/// Loses an event, as only a broken source does; the drift check finds and repairs the differences.
fn heals(lose: impl FnOnce(&FakeSource<TestObject>), then: &str, delivered: &[&str]) {
    virtually(async {
        let fake = FakeSource::of_test_objects(Capabilities::ALL);
        fake.put(TestObject::new("a").with_text("one"));
        let rig = InformerFixture::with(fake, audited);
        let log = EventLog::default();
        let handler = rig.informer.add_handler(log.recorder()).unwrap();
        handler.synced().await.unwrap();
        log.take();
        rig.fake.once(Fault::Event(OnEvent::Lost));
        lose(&rig.fake);
        settled().await;
        assert_eq!(rig.has(), "a@one", "it was to be lost");
        rig.pass(EVERY * 2).await;
        assert_eq!(rig.has(), then);
        assert_eq!(log.take(), delivered);
        let counts = rig.informer.state().counts;
        assert_eq!((counts.drift_checks >= 1, counts.drifts), (true, 1));
        rig.stop().await;
    });
}

#[test]
fn a_lost_change_is_found_and_healed() {
    heals(|fake| drop(fake.put(TestObject::new("a").with_text("two"))), "a@two", &["updated a@two"]);
}

#[test]
fn a_lost_deletion_is_found_and_healed() {
    heals(|fake| drop(fake.delete(&key("a"))), "", &["vanished a@one"]);
}

#[test]
fn a_lost_addition_is_found_and_healed() {
    heals(|fake| drop(fake.put(TestObject::new("b"))), "a@one b@", &["added b@"]);
}

/// A source with slow lists.
struct Far(FakeSource<TestObject>);

#[async_trait]
impl ListWatch<TestObject> for Far {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn list(&self, request: ListRequest) -> Result<Page<TestObject>, ListError> {
        let page = self.0.list(request).await;
        sleep(Duration::from_millis(700)).await;
        page
    }

    async fn watch(&self, request: WatchRequest) -> Result<WatchStream<TestObject>, WatchError> {
        self.0.watch(request).await
    }
}

#[test]
fn nothing_drifts_while_everything_changes() {
    virtually(async {
        let fake = FakeSource::of_test_objects(Capabilities::ALL);
        let mut builder = Informer::<TestObject>::builder(Arc::new(Far(fake.clone())));
        let mut limits = ReflectorLimits::default();
        limits.page = NonZeroU32::new(3).unwrap();
        builder.limits(limits).drift_check(seconds(5)).seed(1);
        builder.filter(Filter { labels: "app=0".parse().unwrap(), ..Filter::default() });
        let informer = builder.build();
        let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
        tasks.spawn(informer.run(stopping.clone()));
        for number in 0..6_000_usize {
            let name = format!("thing-{}", number * 7 % 10);
            // In turn the object exists, moves, and is deleted.
            match number % 5 {
                4 => drop(fake.delete(&key(&name))),
                app => drop(fake.put(TestObject::new(&name).labeled("app", &(app % 2).to_string()))),
            }
            sleep(Duration::from_millis(100)).await;
            if number % 100 == 0 {
                fake.bookmark();
            }
        }
        let counts = informer.state().counts;
        assert!(counts.drift_checks > 20, "{counts:?}");
        assert_eq!(counts.drifts, 0, "{counts:?}");
        stopping.cancel();
        tasks.close();
        tasks.wait().await;
    });
}

#[test]
fn an_unconfirmed_difference_is_not_drift() {
    virtually(async {
        let fake = FakeSource::of_test_objects(Capabilities::ALL);
        fake.put(TestObject::new("a").with_text("one"));
        let rig = InformerFixture::with(fake, audited);
        rig.informer.synced().await.unwrap();
        rig.fake.once(Fault::Event(OnEvent::Lost));
        rig.fake.put(TestObject::new("a").with_text("two"));
        // The list is answered, and the read of the object is not.
        rig.fake.once(Fault::List(OnList::Behind(0)));
        rig.fake.once(Fault::List(OnList::Fails(unavailable().into())));
        rig.pass(seconds(80)).await;
        let counts = rig.informer.state().counts;
        assert_eq!((counts.drift_checks, counts.drifts, rig.has().as_str()), (1, 0, "a@one"));
        rig.pass(seconds(80)).await;
        let counts = rig.informer.state().counts;
        assert_eq!((counts.drift_checks, counts.drifts, rig.has().as_str()), (2, 1, "a@two"));
        rig.stop().await;
    });
}

#[test]
fn a_drift_check_without_an_answer_finds_nothing_and_continues() {
    virtually(async {
        let fake = FakeSource::of_test_objects(Capabilities::ALL);
        fake.put(TestObject::new("a"));
        let rig = InformerFixture::with(fake, |builder| {
            let mut limits = ReflectorLimits::default();
            limits.objects = 20;
            builder.limits(limits).drift_check(EVERY);
        });
        rig.informer.synced().await.unwrap();
        for fault in [
            Fault::List(OnList::NoAnswer),
            Fault::List(OnList::Fails(unavailable().into())),
            Fault::List(OnList::Endless),
        ] {
            rig.fake.once(fault);
        }
        rig.fake.always(Fault::Page(OnList::Endless));
        rig.pass(EVERY * 13).await; // the first check takes ten minutes
        let counts = rig.informer.state().counts;
        assert_eq!((counts.drift_checks, counts.drifts), (0, 0));
        rig.fake.clear_faults();
        rig.pass(EVERY * 2).await;
        let counts = rig.informer.state().counts;
        assert!(counts.drift_checks > 0);
        assert_eq!(counts.drifts, 0);
        rig.stop().await;
    });
}

/// They were judged one after the other, each for ten seconds.
#[test]
fn many_differences_are_judged_together_and_few_are_fetched() {
    virtually(async {
        let rig = InformerFixture::with(FakeSource::of_test_objects(Capabilities::ALL), audited);
        rig.informer.synced().await.unwrap();
        (0..50).for_each(|_| rig.fake.once(Fault::Event(OnEvent::Lost)));
        (0..50).for_each(|number| drop(rig.fake.put(TestObject::new(&format!("thing-{number}")))));
        rig.pass(EVERY + seconds(30)).await;
        assert_eq!(rig.informer.read().len(), 50);
        let (counts, lists) = (rig.informer.state().counts, rig.fake.calls().lists);
        assert_eq!((counts.drift_checks, counts.drifts, lists), (1, 16, 1 + 16));
        rig.stop().await;
    });
}

/// A source that fails to read some of its objects, and may fail to list.
struct Reticent {
    fake: FakeSource<TestObject>,
    silent_of: usize,
    lists_nothing: bool,
    /// Number of turns of other tasks before each list, from when they count.
    turns: Arc<AtomicUsize>,
    before: Arc<Mutex<Vec<usize>>>,
}

impl Reticent {
    fn new(fake: &FakeSource<TestObject>) -> Self {
        let fake = fake.clone();
        Self { fake, silent_of: 0, lists_nothing: false, turns: Arc::default(), before: Arc::default() }
    }
}

#[async_trait]
impl ListWatch<TestObject> for Reticent {
    fn capabilities(&self) -> Capabilities {
        self.fake.capabilities()
    }

    async fn list(&self, request: ListRequest) -> Result<Page<TestObject>, ListError> {
        self.before.lock().push(self.turns.swap(0, Ordering::Relaxed));
        if let Some(term) = request.filter.fields.terms().first() {
            let is_silent_of = |number: usize| *term == FieldTerm::equals(NAME, &name_of(number)).unwrap();
            if (0..self.silent_of).any(is_silent_of) {
                return Err(unavailable().into());
            }
        }
        let mut page = self.fake.list(request).await?;
        if self.lists_nothing {
            (page.items, page.rest) = (Vec::new(), None);
        }
        Ok(page)
    }

    async fn watch(&self, request: WatchRequest) -> Result<WatchStream<TestObject>, WatchError> {
        self.fake.watch(request).await
    }
}

fn name_of(number: usize) -> String {
    format!("thing-{number:05}")
}

/// Each check read the same sixteen objects, and never the seventeenth.
#[test]
fn every_difference_is_eventually_fetched() {
    virtually(async {
        let fake = FakeSource::of_test_objects(Capabilities::ALL);
        let mut builder =
            Informer::<TestObject>::builder(Arc::new(Reticent { silent_of: 40, ..Reticent::new(&fake) }));
        builder.drift_check(EVERY).seed(1);
        let rig = InformerFixture { informer: builder.build(), ..InformerFixture::idle(fake, |_| {}) };
        rig.run();
        rig.informer.synced().await.unwrap();
        (0..41).for_each(|_| rig.fake.once(Fault::Event(OnEvent::Lost)));
        (0..41).for_each(|number| drop(rig.fake.put(TestObject::new(&name_of(number)))));
        rig.pass(EVERY * 2 + seconds(30)).await;
        let counts = rig.informer.state().counts;
        assert_eq!((counts.drift_checks, counts.drifts, rig.informer.read().len()), (2, 0, 0));
        rig.pass(EVERY).await;
        let counts = rig.informer.state().counts;
        assert_eq!((counts.drift_checks, counts.drifts, rig.informer.read().len()), (3, 1, 41));
        rig.stop().await;
    });
}

/// A check of a large cache blocked its thread.
#[test]
fn a_drift_check_of_a_large_cache_yields() {
    virtually(async {
        let fake = FakeSource::of_test_objects(Capabilities::ALL);
        (0..10_000).for_each(|number| drop(fake.put(TestObject::new(&name_of(number)))));
        let source = Reticent { lists_nothing: true, ..Reticent::new(&fake) };
        let (turns, before) = (source.turns.clone(), source.before.clone());
        let mut builder = Informer::<TestObject>::builder(Arc::new(source));
        builder.drift_check(EVERY).seed(1);
        let rig = InformerFixture { informer: builder.build(), ..InformerFixture::idle(fake, |_| {}) };
        rig.run();
        rig.informer.synced().await.unwrap();
        let lists = before.clone();
        rig.tasks.spawn(async move {
            sleep(EVERY - Duration::from_millis(5)).await;
            // The virtual clock advances only while all tasks are idle.
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
        let [while_counted, while_compared, ..] = before.lock()[..] else { panic!("it was listed and read") };
        assert!(while_counted >= 10 && while_compared >= 20, "{while_counted} {while_compared}");
        rig.stop().await;
    });
}

/// The relist may be for this very difference.
#[test]
fn no_drift_is_counted_during_a_relist() {
    let check = |relisted: Duration, lists| {
        virtually(async {
            let rig = InformerFixture::with(FakeSource::of_test_objects(Capabilities::ALL), audited);
            rig.informer.synced().await.unwrap();
            rig.fake.once(Fault::Event(OnEvent::Lost));
            rig.fake.put(TestObject::new("a"));
            rig.pass(relisted).await;
            rig.fake.once(Fault::Watch(OnWatch::NoEnd));
            rig.informer.relist();
            sleep(EVERY + seconds(12) - relisted).await;
            let state = rig.informer.state();
            assert_eq!((state.trouble, rig.informer.read().len()), (None, 0), "the relist still runs");
            assert_eq!(
                (state.counts.drift_checks, state.counts.drifts, rig.fake.calls().lists),
                (0, 0, lists)
            );
            rig.pass(EVERY * 3).await;
            let state = rig.informer.state();
            assert_eq!(
                (state.counts.drift_checks > 0, state.counts.drifts, rig.has().as_str()),
                (true, 0, "a@")
            );
            rig.stop().await;
        });
    };
    check(EVERY - seconds(3), 0);
    check(EVERY + seconds(3), 2); // listed and confirmed
}

#[test]
fn no_drift_is_counted_during_an_error() {
    virtually(async {
        let rig = InformerFixture::with(FakeSource::of_test_objects(Capabilities::ALL), audited);
        rig.informer.synced().await.unwrap();
        rig.fake.once(Fault::Event(OnEvent::Lost));
        rig.fake.put(TestObject::new("a"));
        rig.pass(seconds(30)).await;
        rig.fake.always(Fault::Watch(OnWatch::Fails(unavailable().into())));
        rig.fake.end_watches();
        rig.pass(EVERY * 5).await;
        assert_eq!((rig.informer.state().counts.drift_checks, rig.fake.calls().lists), (0, 0));
        rig.fake.clear_faults();
        rig.pass(EVERY * 3).await;
        assert_eq!((rig.informer.state().counts.drifts, rig.has().as_str()), (1, "a@"));
        rig.stop().await;
    });
}

#[test]
fn an_error_during_a_drift_check_discards_its_result() {
    virtually(async {
        let rig = InformerFixture::with(FakeSource::of_test_objects(Capabilities::ALL), audited);
        rig.informer.synced().await.unwrap();
        rig.fake.once(Fault::Event(OnEvent::Lost));
        rig.fake.put(TestObject::new("a"));
        rig.pass(EVERY + seconds(3)).await;
        assert_eq!(rig.fake.calls().lists, 2, "it has been listed and read");
        rig.fake.always(Fault::Watch(OnWatch::Fails(unavailable().into())));
        rig.fake.end_watches();
        rig.pass(EVERY).await;
        let counts = rig.informer.state().counts;
        assert_eq!((counts.drift_checks, counts.drifts), (0, 0));
        rig.stop().await;
    });
}

/// The watch is dead without being noticed; once it is restarted nothing differs.
#[test]
fn a_cache_that_lags_has_not_drifted() {
    virtually(async {
        let rig = InformerFixture::with(FakeSource::of_test_objects(Capabilities::ALL), audited);
        rig.informer.synced().await.unwrap();
        rig.fake.once(Fault::Event(OnEvent::Silent));
        rig.fake.put(TestObject::new("a"));
        rig.pass(EVERY * 5).await;
        let counts = rig.informer.state().counts;
        assert_eq!(
            (rig.has().as_str(), counts.drifts, rig.fake.calls().lists),
            ("a@", 0, counts.drift_checks)
        );
        assert!(counts.drift_checks > 1);
        rig.stop().await;
    });
}

#[test]
fn an_object_without_a_name_has_not_drifted() {
    virtually(async {
        let fake = FakeSource::of_test_objects(Capabilities::ALL);
        fake.put(TestObject { key: ObjectKey::unnamed(), ..TestObject::new("it-had-one") });
        fake.put(TestObject::new("a"));
        let rig = InformerFixture::with(fake, audited);
        rig.pass(EVERY * 5).await;
        let counts = rig.informer.state().counts;
        assert_eq!((counts.drift_checks > 2, counts.drifts), (true, 0));
        rig.stop().await;
    });
}

#[test]
fn drift_checks_are_at_least_a_second_apart() {
    virtually(async {
        let rig = InformerFixture::with(FakeSource::of_test_objects(Capabilities::ALL), |builder| {
            builder.drift_check(Duration::ZERO);
        });
        rig.pass(seconds(10)).await;
        let counts = rig.informer.state().counts;
        assert!((8..=10).contains(&counts.drift_checks), "{counts:?}");
        rig.stop().await;
    });
}
