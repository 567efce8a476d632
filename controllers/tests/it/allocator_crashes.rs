//! Promise 34: a crash before or after any effect loses no member and no order.

use crate::allocator_fixture::{AllocatorFixture, CrashGate, port_of};
use crate::locks_fixture::{Doc, FaultPoint};
use futures::StreamExt;
use machinery_objects::{Filter, ListRequest, ListWatch, Object, WatchEvent, WatchFrom, WatchRequest};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// The most effects that the scenario has, with a margin: fewer is the normal end.
const EFFECTS: usize = 60;

/// Verifies at every commit that no two hosts record one port.
async fn checker(fixture: &Arc<AllocatorFixture>) -> JoinHandle<usize> {
    let version = fixture.plane.hosts.list(ListRequest::default()).await.unwrap().version;
    let from = WatchFrom::After(version);
    let request = WatchRequest { filter: Filter::default(), from, bookmarks: false, timeout: None };
    let mut watch = fixture.plane.hosts.watch(request).await.unwrap();
    fixture.plane.tasks.spawn(async move {
        let (mut holders, mut commits) = (BTreeMap::<u16, String>::new(), 0);
        loop {
            let event = watch.next().await.unwrap().unwrap();
            commits += 1;
            let (host, exists): (&Arc<Doc>, bool) = match &event {
                WatchEvent::Added(host) | WatchEvent::Modified(host) => (host, true),
                WatchEvent::Deleted(host) => (host, false),
                _ => continue,
            };
            let name = host.key().name().to_owned();
            if name == "the-end" {
                return commits;
            }
            holders.retain(|_, holder| *holder != name);
            if let Some(port) = port_of(host).filter(|_| exists) {
                assert_eq!(holders.insert(port, name), None, "two hosts record {port}");
            }
        }
    })
}

/// Two ports, waiters, a release, a move, a recreation and a grown pool. Returns whether the
/// process crashed.
async fn scenario(at: usize, point: FaultPoint) -> bool {
    let fixture = AllocatorFixture::new(&[("p", 1, 2), ("q", 7, 7)]).await;
    let checked = checker(&fixture).await;
    let gate = CrashGate::new(at, point);
    fixture.spawn(gate.clone());
    for name in ["a", "b"] {
        fixture.attach(name, "p").await;
        fixture.has_port(name).await;
    }
    for name in ["z", "y", "x"] {
        fixture.attach(name, "p").await;
        fixture.waits(name).await;
    }
    fixture.detach("a").await;
    fixture.has_port("z").await;
    fixture.edit("b", "pool", "q").await;
    assert_eq!(fixture.until("b", |host| port_of(host) == Some(7)).await.spec["pool"], "q");
    fixture.has_port("y").await;
    assert!(port_of(&fixture.get("x").await.unwrap()).is_none());
    fixture.detach("z").await;
    fixture.attach("z", "p").await;
    fixture.has_port("x").await;
    fixture.waits("z").await;
    fixture.pools.lock().insert("p".into(), (1, 3));
    fixture.edit("z", "step", "grown").await;
    assert_eq!(fixture.has_port("z").await, 3);
    let settled = async {
        while fixture.locked().await != ["1", "2", "3", "7"] {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), settled).await.expect("no lock is leaked");
    fixture.attach("the-end", "none").await;
    assert!(checked.await.unwrap() > 15);
    fixture.plane.stopping.cancel();
    gate.has_crashed()
}

async fn crash_at_each_effect(point: FaultPoint) {
    let mut crashes = 0;
    for at in 1..EFFECTS {
        if !scenario(at, point).await {
            break;
        }
        crashes = at;
    }
    assert!((15..EFFECTS - 1).contains(&crashes), "{crashes} crashes");
}

#[tokio::test(start_paused = true)]
async fn p34_a_crash_before_any_effect_loses_nothing() {
    crash_at_each_effect(FaultPoint::Before).await;
}

#[tokio::test(start_paused = true)]
async fn p34_a_crash_after_any_effect_loses_nothing() {
    crash_at_each_effect(FaultPoint::After).await;
}
