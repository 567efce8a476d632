//! An object moves between networks while it is looked up, in every order of events and lookups.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt as _;
use machinery_apiserver::{ApiServer, Handle, Identity};
use machinery_informers::{KeyedInformers, Lookup};
use machinery_objects::{
    Capabilities, InterestBy, InterestRequest, InterestSource, InterestWatch, Kind, ListError, ListRequest,
    ListWatch, Page, Preconditions, Scope, WatchError, WatchEvent, WatchRequest, WatchStream, Writer,
};
use machinery_store::{Memory, Options};
use machinery_sync::Mutex;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::keyed::{Port, name, port, vni};

/// A source that sends watch events only when the test permits it.
#[derive(Clone)]
struct Gated {
    ports: Handle<Port>,
    /// A gate per selection.
    gates: Arc<Mutex<BTreeMap<String, Arc<Semaphore>>>>,
}

const ENOUGH: usize = 1_000;

impl Gated {
    fn gate(&self, of: &str) -> Arc<Semaphore> {
        let mut gates = self.gates.lock();
        gates.entry(of.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(ENOUGH))).clone()
    }

    /// Blocks all further events.
    fn close(&self) {
        self.gates.lock().values().for_each(|gate| {
            gate.forget_permits(ENOUGH);
        });
    }

    fn through(&self, of: &str, events: WatchStream<Arc<Port>>) -> WatchStream<Arc<Port>> {
        let gate = self.gate(of);
        Box::pin(events.then(move |event| {
            let gate = gate.clone();
            async move {
                if !matches!(event, Ok(WatchEvent::Bookmark { .. } | WatchEvent::Complete { .. })) {
                    gate.acquire().await.unwrap().forget();
                }
                event
            }
        }))
    }
}

#[async_trait]
impl ListWatch<Arc<Port>> for Gated {
    fn capabilities(&self) -> Capabilities {
        ListWatch::capabilities(&self.ports)
    }

    async fn list(&self, request: ListRequest) -> Result<Page<Arc<Port>>, ListError> {
        self.ports.list(request).await
    }

    async fn watch(&self, request: WatchRequest) -> Result<WatchStream<Arc<Port>>, WatchError> {
        let of = request.filter.labels.to_string();
        Ok(self.through(&of, self.ports.watch(request).await?))
    }

    fn interests(&self) -> Option<Arc<dyn InterestSource<Arc<Port>>>> {
        Some(Arc::new(self.clone()))
    }
}

#[async_trait]
impl InterestSource<Arc<Port>> for Gated {
    async fn open(&self, request: InterestRequest) -> Result<InterestWatch<Arc<Port>>, WatchError> {
        let InterestWatch { events, interest } = self.ports.open(request).await?;
        Ok(InterestWatch { events: self.through("all", events), interest })
    }
}

/// A step of an object's move from 17 to 18.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// The addition under 18 is received.
    Added,
    /// The removal under 17 is received.
    Removed,
    /// The object is looked up; an unresolved lookup waits for a notification.
    LookUp,
}

/// Waits until the object is reported as changed.
async fn next_change(queue: &mut UnboundedReceiver<()>) {
    timeout(Duration::from_secs(10), queue.recv()).await.expect("the change is reported").unwrap();
}

/// Waits until the permitted events have arrived.
async fn arrived(done: impl Fn() -> bool) {
    for _ in 0..2_000 {
        if done() {
            return;
        }
        sleep(Duration::from_millis(5)).await;
    }
    panic!("it does not arrive");
}

async fn moves(steps: [Step; 3], per_key: bool) -> usize {
    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let kind = Kind::new("v1", "ConfigMap", "configmaps", Scope::Namespaced).unwrap();
    let ports: Handle<Port> = server.handle_of(kind, Identity::admin());
    let source = Gated { ports: ports.clone(), gates: Arc::default() };
    let by = InterestBy::Label("vni".into());
    let listed: Arc<dyn ListWatch<Arc<Port>>> = Arc::new(source.clone());
    let builder = KeyedInformers::<u32, Port>::builder(listed, by, vni);
    let informers = if per_key { builder.per_key() } else { builder }.build();
    let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
    tasks.spawn(informers.run(stopping.clone()));
    let mut moving = ports.create(&port("a", 17), None).await.unwrap().object;
    let held = [informers.acquire(17).unwrap(), informers.acquire(18).unwrap()];
    for interest in &held {
        interest.synced().await.unwrap();
    }
    assert!(matches!(informers.lookup(&name("a")), Lookup::Unique(17, _)));
    source.close();
    moving.metadata.labels.insert("vni".into(), "18".into());
    ports.update(&moving, &Preconditions::default()).await.unwrap();

    // Each change of a name is reported to the work queue.
    let (sender, mut queue) = unbounded_channel();
    let handler = informers.add_handler(move |_, _| sender.send(()).unwrap()).unwrap();
    handler.synced().await.unwrap();
    next_change(&mut queue).await; // the initial object
    let mut rests = false;
    let mut dropped = 0;
    for step in steps {
        match step {
            // On one stream the move is one event.
            Step::Added if !per_key => {
                source.gate("all").add_permits(1);
                arrived(|| matches!(informers.lookup(&name("a")), Lookup::Unique(18, _))).await;
            }
            Step::Removed if !per_key => {}
            Step::Added | Step::Removed => {
                // So that the next notification is of this change.
                assert!(queue.try_recv().is_err(), "all earlier reports were received");
                let (of, key, count) =
                    if step == Step::Added { ("vni=18", 18, 1) } else { ("vni=17", 17, 0) };
                source.gate(of).add_permits(1);
                arrived(|| informers.read().count(&key) == count).await;
                next_change(&mut queue).await;
                rests &= !matches!(informers.lookup(&name("a")), Lookup::Unique(18, _));
            }
            Step::LookUp => match informers.lookup(&name("a")) {
                Lookup::Unique(at, _) => assert!(at == 17 || at == 18),
                Lookup::Absent | Lookup::Ambiguous(_) => {
                    assert!(per_key, "one stream always knows where it is");
                    rests = true;
                    dropped += 1;
                }
            },
        }
    }
    assert!(!rests, "it was unambiguous at the report of the last change");
    assert!(matches!(informers.lookup(&name("a")), Lookup::Unique(18, _)));
    assert_eq!((informers.read().count(&17), informers.read().count(&18)), (0, 1));
    stopping.cancel();
    tasks.close();
    tasks.wait().await;
    dropped
}

const ORDERS: [[Step; 3]; 6] = {
    use Step::{Added, LookUp, Removed};
    [
        [Added, Removed, LookUp],
        [Added, LookUp, Removed],
        [Removed, Added, LookUp],
        [Removed, LookUp, Added],
        [LookUp, Added, Removed],
        [LookUp, Removed, Added],
    ]
};

#[tokio::test]
async fn with_a_stream_per_key_an_ambiguity_ends_with_a_notification() {
    let mut dropped = 0;
    for steps in ORDERS {
        dropped += moves(steps, true).await;
    }
    assert_eq!(dropped, 2, "it is under both in one order, and under none in another");
}

#[tokio::test]
async fn on_one_stream_a_moving_object_is_never_ambiguous() {
    for steps in ORDERS {
        assert_eq!(moves(steps, false).await, 0);
    }
}
