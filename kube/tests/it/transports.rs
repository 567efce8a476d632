//! The same writes, observed over the wire and through the server's handle, are the same events.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use kube_runtime::watcher;
use machinery_apiserver::{ApiServer, Handle, Identity};
use machinery_kube::kube_client::Api;
use machinery_kube::{Remote, ServerProfile};
use machinery_objects::{
    EditNumber, Filter, Freshness, InterestEdit, InterestSource, ListRequest, ListWatch, Object, WatchEvent,
    WatchFrom, WatchRequest, WatchStream, Writer,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::interest::request;
use crate::plane::{Port, all, client, create, key, kind, labelled, moved, next, plane, within};

/// One random write or edit.
#[derive(Clone, Debug)]
enum Step {
    Put(u8, u8),
    Delete(u8),
    Edit(Vec<u8>, Vec<u8>),
}

fn step() -> impl Strategy<Value = Step> {
    let keys = || prop::collection::vec(0..4u8, 0..3);
    prop_oneof![
        6 => (0..5u8, 0..4u8).prop_map(|(name, vni)| Step::Put(name, vni)),
        2 => (0..5u8).prop_map(Step::Delete),
        1 => (keys(), keys()).prop_map(|(remove, add)| Step::Edit(remove, add)),
    ]
}

/// The parts of an event that both transports must agree on.
fn comparable(event: &WatchEvent<Port>) -> String {
    match event {
        WatchEvent::Added(port) => format!("added {port:?}"),
        WatchEvent::Modified(port) => format!("modified {port:?}"),
        WatchEvent::Deleted(port) => format!("deleted {port:?}"),
        WatchEvent::Left(port) => format!("left {port:?}"),
        WatchEvent::Complete { edit, version } => format!("complete {} at {version}", edit.0),
        other => panic!("{other:?}"),
    }
}

/// Collects all events up to the last one, without bookmarks.
async fn until(events: &mut WatchStream<Port>, is_last: impl Fn(&WatchEvent<Port>) -> bool) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let event = next(events).await.expect("the watch goes on").expect("an event");
        if matches!(event, WatchEvent::Bookmark { .. }) {
            continue;
        }
        all.push(comparable(&event));
        if is_last(&event) {
            return all;
        }
    }
}

fn is_about(event: &WatchEvent<Port>) -> bool {
    matches!(event, WatchEvent::Added(port) if port.key() == key("last"))
}

fn is_done(number: EditNumber) -> impl Fn(&WatchEvent<Port>) -> bool {
    move |event| matches!(event, WatchEvent::Complete { edit, .. } if *edit == number)
}

/// The events of the handle, with owned objects.
fn owned(events: WatchStream<Arc<Port>>) -> WatchStream<Port> {
    Box::pin(events.map(|event| event.map(|event| event.map(|port| Port::clone(&port)))))
}

struct Transports {
    server: ApiServer,
    wire: Remote<Port>,
    handle: Handle<Port>,
}

impl Transports {
    async fn begin() -> Self {
        let (server, client) = plane().await;
        let handle = server.handle::<Port>(Identity::admin());
        Self { server, wire: Remote::new(client, kind(), ServerProfile::machinery()), handle }
    }

    async fn take(&self, step: &Step) {
        match step {
            Step::Put(name, vni) => {
                let (name, vni) = (format!("p{name}"), vni.to_string());
                match self.wire.get(&key(&name), Freshness::Newest).await.unwrap() {
                    Some(port) => drop(moved(&self.wire, &port, &vni).await),
                    None => drop(create(&self.handle, &name, &vni).await),
                }
            }
            Step::Delete(name) => {
                drop(self.wire.delete(&key(&format!("p{name}")), &Default::default()).await)
            }
            Step::Edit(..) => {}
        }
    }

    /// Opens both watches at the same version.
    async fn watches(&self, filter: Filter) -> (WatchStream<Port>, WatchStream<Port>) {
        let version = all(&self.wire).await.version;
        let request =
            WatchRequest { filter, from: WatchFrom::After(version), bookmarks: false, timeout: None };
        (self.wire.watch(request.clone()).await.unwrap(), owned(self.handle.watch(request).await.unwrap()))
    }
}

async fn compare_watches(steps: Vec<Step>) {
    let transports = Transports::begin().await;
    for at in 0..3 {
        transports.take(&Step::Put(at, at)).await;
    }
    let (mut wire, mut here) = transports.watches(Filter::default()).await;
    let (mut some_wire, mut some_here) = transports.watches(labelled("vni in (1,2,last)")).await;
    let mut by_wire = transports.wire.open(request(&["1"])).await.unwrap();
    let by_handle = transports.handle.open(request(&["1"])).await.unwrap();
    let mut of_handle = owned(by_handle.events);
    for step in steps.iter().chain([&Step::Edit(vec![], vec![0, 1, 2, 3])]) {
        transports.take(step).await;
        let Step::Edit(remove, add) = step else { continue };
        let texts = |keys: &[u8]| keys.iter().map(|key| Arc::from(key.to_string())).collect();
        let edit = InterestEdit { remove: texts(remove), add: texts(add) };
        let number = by_wire.interest.edit(edit.clone()).await.unwrap();
        assert_eq!(by_handle.interest.edit(edit).await, Ok(number));
        let on_wire = until(&mut by_wire.events, is_done(number)).await;
        let here = until(&mut of_handle, is_done(number)).await;
        assert_eq!(on_wire, here);
    }
    create(&transports.wire, "last", "last").await;
    assert_eq!(until(&mut wire, is_about).await, until(&mut here, is_about).await);
    // Over the wire, leaving a selector looks like a deletion.
    let as_gone = |comparable: &String| comparable.replacen("left ", "deleted ", 1);
    let some_here = until(&mut some_here, is_about).await;
    assert_eq!(until(&mut some_wire, is_about).await, some_here.iter().map(as_gone).collect::<Vec<_>>());
    transports.server.stop().await;
}

#[test]
fn both_transports_send_the_same_events() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let config = Config { cases: 24, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&prop::collection::vec(step(), 0..60), |steps| {
            runtime.block_on(compare_watches(steps));
            Ok(())
        })
        .unwrap();
}

#[tokio::test]
async fn both_transports_list_the_same_objects() {
    let transports = Transports::begin().await;
    for at in 0..5 {
        transports.take(&Step::Put(at, at % 2)).await;
    }
    for filter in [Filter::default(), labelled("vni=1"), labelled("vni=7")] {
        let request = ListRequest { filter, ..ListRequest::default() };
        let wire = transports.wire.list(request.clone()).await.unwrap();
        let here = transports.handle.list(request).await.unwrap();
        assert_eq!(wire.items, here.items.iter().map(|port| Port::clone(port)).collect::<Vec<_>>());
        assert_eq!((wire.version, wire.rest, wire.remaining), (here.version, here.rest, here.remaining));
    }
    transports.server.stop().await;
}

/// kube-runtime's watcher beside ours, on the same server.
#[tokio::test]
async fn kube_runtimes_watcher_receives_the_same_objects() {
    let transports = Transports::begin().await;
    let api: Api<Port> = Api::namespaced(client(&transports.server), "default");
    let (mut ours, _) = transports.watches(Filter::default()).await;
    let theirs = watcher(api, watcher::Config::default());
    let mut theirs = std::pin::pin!(theirs.map_ok(|event| match event {
        watcher::Event::Apply(port) => Some(format!("put {port:?}")),
        watcher::Event::Delete(port) => Some(format!("deleted {port:?}")),
        _ => None,
    }));
    // It sends no list request, only a watch.
    for _ in 0..2 {
        assert_eq!(within(theirs.try_next()).await.unwrap(), Some(None));
    }
    tokio::time::timeout(Duration::from_millis(100), theirs.next()).await.unwrap_err();
    let steps = [Step::Put(1, 1), Step::Put(1, 2), Step::Put(2, 1), Step::Delete(1), Step::Put(1, 3)];
    for step in &steps {
        transports.take(step).await;
    }
    for _ in &steps {
        let our = comparable(&next(&mut ours).await.unwrap().unwrap());
        let our = our.replacen("added ", "put ", 1).replacen("modified ", "put ", 1);
        assert_eq!(within(theirs.try_next()).await.unwrap().unwrap(), Some(our));
    }
    transports.server.stop().await;
}
