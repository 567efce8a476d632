//! An informer yields to other tasks of its thread, whatever its source does.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use futures::Stream;
use machinery_informers::Informer;
use machinery_informers::testing::TestObject;
use machinery_objects::{
    Capabilities, Continue, ListError, ListRequest, ListWatch, Page, Revision, WatchError, WatchEvent,
    WatchRequest, WatchStream,
};
use machinery_sync::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::support::{seconds, virtually};

/// Number of events after which the source is silent, so that a failing test ends.
const MOST: u64 = 100_000;
/// Maximum number of events between two turns of other tasks.
const SOON: u64 = 500;

/// Ways in which a source can keep an informer busy.
#[derive(Clone, Copy, Debug, PartialEq)]
enum BusyMode {
    /// Each event is ready at once.
    Ready,
    /// Each event is ready on the second poll.
    Hesitates,
    /// Each watch ends after one event.
    Ends,
    /// Lists are endless.
    Lists,
    /// All lists but the first are endless, so those of drift checks.
    Audited,
}

#[derive(Clone)]
struct BusySource {
    manner: BusyMode,
    events: Arc<Mutex<u64>>,
}

impl BusySource {
    /// Returns the next object; `None` once the source is silent.
    fn says(&self) -> Option<TestObject> {
        let mut events = self.events.lock();
        *events += 1;
        let thing = TestObject { version: Some(Revision(*events).into()), ..TestObject::new("busy") };
        (*events < MOST).then_some(thing)
    }
}

#[async_trait]
impl ListWatch<TestObject> for BusySource {
    fn capabilities(&self) -> Capabilities {
        Capabilities::LEAST
    }

    async fn list(&self, _: ListRequest) -> Result<Page<TestObject>, ListError> {
        let Some(thing) = self.says() else { std::future::pending().await };
        let goes_on = match self.manner {
            BusyMode::Lists => true,
            BusyMode::Audited => *self.events.lock() > 1,
            _ => false,
        };
        let rest = goes_on.then(|| Continue::new("on")).flatten();
        let version = thing.version.clone().unwrap();
        Ok(Page { items: vec![thing], unreadable: Vec::new(), version, rest, remaining: None })
    }

    async fn watch(&self, _: WatchRequest) -> Result<WatchStream<TestObject>, WatchError> {
        Ok(Box::pin(BusyEvents { busy: self.clone(), polls: 0 }))
    }
}

struct BusyEvents {
    busy: BusySource,
    polls: u64,
}

impl Stream for BusyEvents {
    type Item = Result<WatchEvent<TestObject>, WatchError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.polls += 1;
        match self.busy.manner {
            BusyMode::Hesitates if self.polls % 2 == 1 => {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            BusyMode::Ends if self.polls > 1 => return Poll::Ready(None),
            BusyMode::Audited => return Poll::Pending,
            _ => {}
        }
        self.busy.says().map_or(Poll::Pending, |thing| Poll::Ready(Some(Ok(WatchEvent::Modified(thing)))))
    }
}

/// Returns after a turn of all ready tasks. tokio's own `yield_now` may postpone a task by up to 61
/// of them.
async fn turn_of_all() {
    let mut is_woken = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut is_woken, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[test]
fn a_source_with_endless_events_lets_other_tasks_run() {
    for manner in [BusyMode::Ready, BusyMode::Hesitates, BusyMode::Ends, BusyMode::Lists, BusyMode::Audited] {
        virtually(async {
            let busy = BusySource { manner, events: Arc::default() };
            let source: Arc<dyn ListWatch<TestObject>> = Arc::new(busy.clone());
            let mut informer = Informer::<TestObject>::builder(source);
            informer.drift_check(seconds(60));
            let informer = informer.build();
            let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
            tasks.spawn(informer.run(stopping.clone()));
            let others = tasks.spawn(async move {
                if manner == BusyMode::Audited {
                    tokio::time::sleep(seconds(60)).await;
                }
                for turn in 1..=5 {
                    turn_of_all().await;
                    let events = *busy.events.lock();
                    assert!(
                        events <= turn * SOON,
                        "{manner:?}: {events} events before turn {turn} of others"
                    );
                }
            });
            others.await.unwrap();
            stopping.cancel();
            tasks.close();
            tasks.wait().await;
        });
    }
}
