//! One interest stream on a fake source: opening, edits, and the cost of a break.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use futures::Stream;
use machinery_informers::testing::{FakeSource, Fault, OnEdit, OnEvent, TestObject};
use machinery_informers::{Interest, KeyedBuilder, KeyedInformers, ReflectorError, ReflectorLimits};
use machinery_objects::{
    Capabilities, EditNumber, InterestBy, InterestEdit, InterestRequest, InterestSource, InterestWatch,
    ListError, ListRequest, ListWatch, Page, Revision, SourceError, WatchError, WatchEvent, WatchRequest,
    WatchStream,
};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::support::{EventLog, key, seconds, settled, virtually};

pub(crate) struct KeyedFixture {
    pub(crate) fake: FakeSource<TestObject>,
    pub(crate) informers: KeyedInformers<String, TestObject>,
    tasks: TaskTracker,
    stopping: CancellationToken,
    pub(crate) log: EventLog,
}

impl KeyedFixture {
    /// Returns a fixture with this limit of keys per request, on both sides.
    pub(crate) fn of(keys_at_once: usize) -> Self {
        let fake = FakeSource::of_test_objects(Capabilities::ALL);
        fake.refuse_more_keys_than(keys_at_once);
        let mut limits = ReflectorLimits::default();
        limits.edit_keys = keys_at_once;
        Self::with(fake, |builder| builder.limits(limits))
    }

    pub(crate) fn with(
        fake: FakeSource<TestObject>,
        set: impl FnOnce(KeyedBuilder<String, TestObject>) -> KeyedBuilder<String, TestObject>,
    ) -> Self {
        let source: Arc<dyn ListWatch<TestObject>> = Arc::new(fake.clone());
        let by = InterestBy::Field(TestObject::PLACE.into());
        let find = |thing: &TestObject| Some(thing.place.to_string());
        let informers = set(KeyedInformers::builder(source, by, find).seed(7)).build();
        let log = EventLog::default();
        let mut recorder = log.recorder();
        informers.add_handler(move |_, event| recorder(event)).unwrap().detach();
        Self { fake, informers, tasks: TaskTracker::new(), stopping: CancellationToken::new(), log }
    }

    pub(crate) fn run(&self) {
        self.tasks.spawn(self.informers.run(self.stopping.clone()));
    }

    pub(crate) fn put(&self, name: &str, place: &str, text: &str) {
        self.fake.put(TestObject::new(&format!("default/{name}")).at(place).with_text(text));
    }

    /// Acquires this many keys, with an object under each.
    pub(crate) fn acquire(&self, keys: u32) -> Vec<Interest<String, TestObject>> {
        let keys = (0..keys).map(|number| {
            self.put(&format!("o{number:03}"), &format!("p{number:03}"), "one");
            self.informers.acquire(format!("p{number:03}")).unwrap()
        });
        keys.collect()
    }

    pub(crate) async fn stop(self) {
        self.stopping.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        assert_eq!((self.fake.calls().open_watches, self.informers.state().streams), (0, 0));
    }
}

/// Waits for the keys in virtual time, with a timeout that fails the test.
pub(crate) async fn synced(interests: &[Interest<String, TestObject>]) {
    for interest in interests {
        timeout(seconds(3_600), interest.synced()).await.expect("it becomes complete").unwrap();
    }
}

#[test]
fn ten_times_the_request_limit_of_keys_become_complete() {
    virtually(async {
        let rig = KeyedFixture::of(10);
        let held = rig.acquire(100);
        rig.run();
        synced(&held).await;
        let calls = rig.fake.calls();
        assert_eq!(
            (calls.watches, calls.edits, calls.events),
            (1, 9, 100 + 10),
            "each object once, and ten marks"
        );
        assert_eq!(rig.informers.state().counts.troubles, 0);
        settled().await;
        assert_eq!(rig.log.take().len(), 100);

        // The stream resumes with as many keys as fit. The others are relisted, and only changes
        // delivered.
        rig.fake.end_watches();
        rig.put("o001", "p001", "two");
        rig.put("o050", "p050", "two");
        rig.fake.delete(&key("default/o060"));
        rig.put("o070", "p071", "two");
        rig.put("o080", "p001", "two");
        sleep(seconds(1)).await;
        let again = rig.fake.calls();
        assert_eq!((again.watches, again.edits), (2, 18));
        // Two changes under the ten keys, ten completions, and the objects under the other keys.
        assert_eq!(again.events - calls.events, 2 + 10 + 88);
        let mut log = rig.log.take();
        log.sort_unstable();
        let expected = [
            "added default/o070@two",
            "added default/o080@two",
            "left default/o070@one",
            "left default/o080@one",
            "updated default/o001@two",
            "updated default/o050@two",
            "vanished default/o060@one",
        ];
        assert_eq!(log, expected);
        synced(&held).await;
        assert_eq!(rig.informers.read().len(), 99);
        assert_eq!(rig.informers.state().trouble, None);
        drop(held);
        rig.stop().await;
    });
}

/// An empty key caused no event.
#[test]
fn completions_report_each_key_once_it_is_complete() {
    virtually(async {
        let rig = KeyedFixture::of(10);
        let mut completions = rig.informers.completions();
        let held = rig.acquire(30);
        let empty = rig.informers.acquire("empty".to_owned()).unwrap();
        rig.run();
        let mut delivered = Vec::new();
        while delivered.len() < 31 {
            let next = timeout(seconds(3_600), completions.next()).await.expect("they come to be complete");
            delivered.extend(next.unwrap());
        }
        assert!(delivered.is_sorted(), "{delivered:?}");
        for interest in held.iter().chain([&empty]) {
            let number = interest.completed().unwrap();
            assert!(delivered.contains(&(number, interest.key().clone())), "{number:?} of {delivered:?}");
        }
        let late = rig.informers.completions().next().await.unwrap();
        assert_eq!(late, delivered);
        assert!(timeout(seconds(3_600), completions.next()).await.is_err(), "each is reported once");
        drop((held, empty));
        assert!(timeout(seconds(1), rig.informers.completions().next()).await.is_err(), "none is complete");
        rig.stop().await;
        assert_eq!(completions.next().await, None);
    });
}

#[test]
fn requests_shrink_to_the_limit_of_the_source() {
    virtually(async {
        let rig = KeyedFixture::of(100);
        rig.fake.refuse_more_keys_than(5);
        let held = rig.acquire(50);
        rig.run();
        settled().await;
        let state = rig.informers.state();
        let Some(ReflectorError::Watch(WatchError::Source(SourceError::Invalid { .. }))) = state.trouble
        else {
            panic!("{state:?}")
        };
        synced(&held).await;
        let state = rig.informers.state();
        // Batches of 50, 25, 12, 6 and 3; then 6 are tried once more.
        assert_eq!((state.counts.opened, state.counts.edits, state.trouble), (5, 17, None));
        drop(held);
        rig.stop().await;
    });
}

#[test]
fn a_break_during_an_edit_costs_only_the_added_keys() {
    let breaks = [
        Fault::Event(OnEvent::Fails(WatchError::TooSlow)),
        Fault::Event(OnEvent::Ends),
        Fault::Edit(OnEdit::Fails(SourceError::TimedOut.into())),
        Fault::Edit(OnEdit::MadeAndFails(SourceError::TimedOut.into())),
    ];
    for fault in breaks {
        virtually(async {
            let rig = KeyedFixture::of(100);
            let mut held = rig.acquire(50);
            rig.run();
            synced(&held).await;
            let before = rig.fake.calls().events;
            rig.put("x", "px", "one");
            rig.fake.once(fault.clone());
            held.push(rig.informers.acquire("px".into()).unwrap());
            synced(&held).await;
            let calls = rig.fake.calls();
            // The completions of the stream and of the edit, the object, and the events of the edit
            // before the break.
            assert!((3..=5).contains(&(calls.events - before)), "{fault:?}: {calls:?}");
            assert_eq!((calls.watches, calls.edits, calls.faults), (2, 2, 1), "{fault:?}");
            settled().await;
            assert_eq!(rig.log.take().len(), 51, "{fault:?}");
            drop(held);
            rig.stop().await;
        });
    }
}

#[test]
fn an_edit_without_an_echo_is_retried_and_one_with_a_late_echo_is_not() {
    let faults = [
        (OnEdit::Fails(SourceError::TooManyRequests { retry_after: None }.into()), 1, 2),
        (OnEdit::Fails(SourceError::TooManyRequests { retry_after: Some(seconds(20)) }.into()), 1, 2),
        (OnEdit::AnsweredLast, 1, 1),
        (OnEdit::Late, 1, 1),
        (OnEdit::NoAnswer, 2, 2),
        (OnEdit::NoEcho, 2, 2),
    ];
    for (fault, watches, edits) in faults {
        virtually(async {
            let rig = KeyedFixture::of(100);
            let mut held = rig.acquire(1);
            rig.run();
            synced(&held).await;
            rig.put("x", "px", "one");
            rig.fake.once(Fault::Edit(fault.clone()));
            held.push(rig.informers.acquire("px".into()).unwrap());
            settled().await;
            let at_once = fault == OnEdit::AnsweredLast;
            assert_eq!(held[1].is_synced(), at_once, "{fault:?}");
            // Changes under the other keys are delivered meanwhile.
            rig.put("o000", "p000", "two");
            settled().await;
            assert!(rig.log.take().contains(&"updated default/o000@two".to_owned()), "{fault:?}");
            sleep(seconds(19)).await;
            let waits = fault
                == OnEdit::Fails(SourceError::TooManyRequests { retry_after: Some(seconds(20)) }.into());
            assert!(!(waits && held[1].is_synced()), "it was throttled");
            for _ in 0..8 {
                rig.fake.bookmark();
                sleep(seconds(10)).await;
            }
            assert!(held[1].is_synced(), "{fault:?}");
            let calls = rig.fake.calls();
            assert_eq!((calls.watches, calls.edits), (watches, edits), "{fault:?}");
            assert_eq!(rig.informers.state().trouble, None, "{fault:?}");
            drop(held);
            rig.stop().await;
        });
    }
}

#[test]
fn after_a_restore_no_lost_object_remains() {
    virtually(async {
        let rig = KeyedFixture::of(2);
        let held = rig.acquire(5);
        rig.run();
        synced(&held).await;
        for place in 0..5 {
            rig.put(&format!("lost{place}"), &format!("p{place:03}"), "never");
            rig.put(&format!("o{place:03}"), &format!("p{place:03}"), "never");
        }
        settled().await;
        assert_eq!(rig.informers.read().len(), 10);
        rig.fake.restore(10);
        for _ in 0..13 {
            sleep(seconds(30)).await;
            rig.fake.bookmark();
        }
        let read = rig.informers.read();
        assert_eq!(read.len(), 5);
        assert!(read.iter().all(|(_, _, thing)| &*thing.text == "one"));
        assert_eq!(rig.informers.state().trouble, None);
        drop(held);
        rig.stop().await;
    });
}

#[test]
fn without_keys_an_ended_stream_is_not_reopened() {
    virtually(async {
        let rig = KeyedFixture::of(9);
        rig.run();
        settled().await;
        assert_eq!(rig.informers.state().streams, 0);
        let held = rig.acquire(1);
        synced(&held).await;
        drop(held);
        sleep(seconds(2)).await;
        assert_eq!(
            (rig.informers.state().streams, rig.fake.calls().open_watches),
            (1, 1),
            "it stays for the next"
        );
        rig.fake.end_watches();
        settled().await;
        let state = rig.informers.state();
        assert_eq!((state.streams, rig.fake.calls().open_watches, state.counts.opened), (0, 0, 1));
        assert_eq!(state.trouble, None);
        rig.stop().await;
    });
}

/// A source that always has one more event, and never two, as if each read woke its writer.
struct Endless;

struct OneMore {
    delivered: u64,
    woken: bool,
}

#[async_trait]
impl ListWatch<TestObject> for Endless {
    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    async fn list(&self, _: ListRequest) -> Result<Page<TestObject>, ListError> {
        std::future::pending().await
    }

    async fn watch(&self, _: WatchRequest) -> Result<WatchStream<TestObject>, WatchError> {
        std::future::pending().await
    }

    fn interests(&self) -> Option<Arc<dyn InterestSource<TestObject>>> {
        Some(Arc::new(Self))
    }
}

#[async_trait]
impl InterestSource<TestObject> for Endless {
    async fn open(&self, _: InterestRequest) -> Result<InterestWatch<TestObject>, WatchError> {
        Ok(InterestWatch {
            events: Box::pin(OneMore { delivered: 0, woken: false }),
            interest: Arc::new(Self),
        })
    }
}

#[async_trait]
impl machinery_objects::Interest for Endless {
    async fn edit(&self, _: InterestEdit) -> Result<EditNumber, WatchError> {
        std::future::pending().await
    }
}

impl Stream for OneMore {
    type Item = Result<WatchEvent<TestObject>, WatchError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.woken = !self.woken;
        if self.woken {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.delivered += 1;
        let version = Revision(self.delivered).into();
        if self.delivered == 1 {
            return Poll::Ready(Some(Ok(WatchEvent::Complete { edit: EditNumber::FIRST, version })));
        }
        let thing = TestObject { version: Some(version), ..TestObject::new("default/a").at("p") };
        Poll::Ready(Some(Ok(WatchEvent::Modified(thing))))
    }
}

#[test]
fn a_busy_stream_yields() {
    let (sender, delivered) = mpsc::channel();
    // On a thread of its own, so that starvation fails the test.
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let by = InterestBy::Field(TestObject::PLACE.into());
            let find = |thing: &TestObject| Some(thing.place.to_string());
            let source: Arc<dyn ListWatch<TestObject>> = Arc::new(Endless);
            let informers = KeyedInformers::builder(source, by, find).build();
            let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
            let interest = informers.acquire("p".to_owned()).unwrap();
            tasks.spawn(informers.run(stopping.clone()));
            interest.synced().await.unwrap();
            while informers.state().counts.events < 10_000 {
                tokio::task::yield_now().await;
            }
            stopping.cancel();
            tasks.close();
            tasks.wait().await;
        });
        sender.send(()).unwrap();
    });
    delivered.recv_timeout(seconds(60)).expect("others have their turn");
}
